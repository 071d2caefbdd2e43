"""Draws what compare.py found: one bar a workload, its length the ratio of CPU times per message."""

from xml.sax.saxutils import escape

ROW = 26
LABEL = 240
SCALE = 420  # pixels of a ratio of 1
STYLE = """
  text { font: 13px sans-serif; fill: #24292f }
  .figure { font-size: 12px; fill: #57606a }
  .bar { fill: #1f6feb }
  .line { stroke: #57606a; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .figure { fill: #9da7b1 } .bar { fill: #4493f8 } .line { stroke: #9da7b1 }
  }
"""


def draw(table):
    """An SVG. `table`: {workload: {library: figures}}, ours first, librdkafka second."""
    rows = [(name, *libraries.values()) for name, libraries in table.items() if len(libraries) == 2]
    height = 40 + ROW * len(rows) + 12
    width = LABEL + round(SCALE * 1.5) + 90
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
           f'aria-label="CPU time per message, Ottla to librdkafka">',
           f"<style>{STYLE}</style>",
           f'<text x="{LABEL}" y="16">CPU time per message, librdkafka = 1 (shorter is better)</text>']
    for number, (name, ours, theirs) in enumerate(rows):
        top = 40 + number * ROW
        ratio = ours["cpu_us_per_msg"] / theirs["cpu_us_per_msg"] if theirs["cpu_us_per_msg"] else 0
        length = round(min(ratio, 1.5) * SCALE)
        figures = f'{ratio:.2f}  ({ours["cpu_us_per_msg"]:.3f} / {theirs["cpu_us_per_msg"]:.3f} us)'
        out += [f'<text x="{LABEL - 8}" y="{top + 13}" text-anchor="end">{escape(name)}</text>',
                f'<rect class="bar" x="{LABEL}" y="{top}" width="{length}" height="{ROW - 8}" rx="2"/>',
                f'<text class="figure" x="{LABEL + length + 6}" y="{top + 13}">{figures}</text>']
    out += [f'<line class="line" x1="{LABEL + SCALE}" x2="{LABEL + SCALE}" y1="26" y2="{height - 8}"/>', "</svg>", ""]
    return "\n".join(out)
