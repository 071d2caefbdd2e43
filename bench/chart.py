"""Draws what compare.py found: CPU time per message as bars, librdkafka's being 1."""

from xml.sax.saxutils import escape

import pairs

BAR = 13
GAP = 10
TOP = 48
LABEL = 200
SCALE = 300  # pixels of a ratio of 1
RATIO_MAX = 1.75  # longer bars are broken; their figure says how long they were
BREAK = 5
FIGURE = 190
STYLE = """
  text { font: 13px sans-serif; fill: #24292f }
  .figure { font-size: 11px; fill: #57606a }
  .ottla { fill: #1f6feb } .java { fill: #c4a15a }
  .line { stroke: #57606a; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .figure { fill: #9da7b1 } .ottla { fill: #4493f8 } .java { fill: #9e8047 }
    .line { stroke: #9da7b1 }
  }
"""
NAMES = {"ottla": "Ottla", "java": "Kafka's Java client"}


def draw(table):
    """An SVG. `table`: {workload: {library: figures}}."""
    width = LABEL + round(SCALE * RATIO_MAX) + FIGURE
    drawn = [(name, libraries) for name, libraries in table.items() if {"ottla", "reference"} <= set(libraries)]
    body, top = [], TOP
    for name, libraries in drawn:
        theirs = libraries["reference"]
        bars = [(library, libraries[library]) for library in NAMES if library in libraries]
        body.append(f'<text x="{LABEL - 8}" y="{top + BAR * len(bars) / 2 + 4:.0f}" text-anchor="end">{escape(name)}</text>')
        for library, found in bars:
            body += bar(library, top, found, theirs)
            top += BAR
        top += GAP
    legend, x = [], LABEL
    for library in NAMES:
        if any(library in libraries for _, libraries in drawn):
            legend.append(f'<rect class="{library}" x="{x}" y="27" width="10" height="10" rx="2"/>'
                          f'<text class="figure" x="{x + 14}" y="36">{NAMES[library]}</text>')
            x += 70
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" role="img" '
        f'aria-label="CPU time per message, librdkafka = 1">', f"<style>{STYLE}</style>",
        f'<text x="{LABEL}" y="16">CPU time per message, librdkafka = 1 (shorter is better)</text>', *legend,
        f'<line class="line" x1="{LABEL + SCALE}" x2="{LABEL + SCALE}" y1="{TOP - 8}" y2="{top - GAP / 2:.0f}"/>', *body,
        "</svg>", ""])


def bar(library, top, found, theirs):
    ratio = pairs.ratio(found, theirs, "cpu_us_per_msg")
    length = round(min(ratio, RATIO_MAX) * SCALE)
    figures = f"{ratio:.2f}  ({found['cpu_us_per_msg']:.3f} / {theirs['cpu_us_per_msg']:.3f} µs)"
    pieces = [(0, length)] if ratio <= RATIO_MAX else [(0, length - 3 * BREAK), (length - 2 * BREAK, 2 * BREAK)]
    return [*(f'<rect class="{library}" x="{LABEL + start}" y="{top}" width="{width}" height="{BAR - 2}" rx="2"/>'
              for start, width in pieces),
            f'<text class="figure" x="{LABEL + length + 6}" y="{top + BAR - 4}">{figures}</text>']
