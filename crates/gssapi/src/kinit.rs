//! The command that fills the default cache for programs that have set one.

use std::env;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::FromRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time of a run. kinit(1) itself gives up after half a minute when one KDC does not answer.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The first and the longest pause between two looks at the command.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// Maximum length in bytes of the command's output in an error.
const OUTPUT_MAX: u64 = 600;

/// Runs the command, and writes its exit status: the process may be unable to wait for it, because the application ignores
/// SIGCHLD or waits for all of its children.
const SHELL_SCRIPT: &str = "sh -c \"$1\" >/dev/null; echo $?";

/// One run at a time in this process: runs of several clients at once can damage the cache that they share.
static RUNNING: Mutex<()> = Mutex::new(());

/// A shell command, such as kinit(1), that acquires or renews tickets in the default cache.
pub struct KinitCommand {
    template: String,
    command: String,
    principal: String,
    time_limit: Duration,
}

/// A failure to expand a template: a variable without a value, or one without its closing brace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError(String);

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TemplateError {}

impl KinitCommand {
    /// Returns the command of a template, in which each `%{NAME}` is replaced by the value that `lookup` returns. Values
    /// are not quoted for the shell. `principal` is for errors.
    ///
    /// # Errors
    /// [`TemplateError`] when `lookup` returns `None`, or a closing brace is missing.
    pub fn new(
        template: &str,
        principal: &str,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, TemplateError> {
        Ok(KinitCommand {
            template: template.to_owned(),
            command: expand(template, lookup)?,
            principal: principal.to_owned(),
            time_limit: TIME_LIMIT,
        })
    }

    /// Runs the command with `sh -c`, until it ends or 60 seconds have passed, when it is killed. Waits before that while
    /// another client runs its command.
    ///
    /// # Errors
    /// The text for the log: the cause, the command's last lines on standard error, principal and cache.
    pub fn run(&self) -> Result<(), String> {
        let _one_at_a_time = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        self.run_now().map_err(|cause| {
            format!(
                "Kerberos ticket refresh failed: {}: {cause} (principal {}, cache {})",
                self.template,
                self.principal,
                cache_name()
            )
        })
    }

    fn run_now(&self) -> Result<(), String> {
        let mut output = Output::new().map_err(|e| format!("no memory for its output: {e}"))?;
        let spawned = output.stdio().and_then(|(status, errors)| {
            Command::new("sh")
                .args(["-c", SHELL_SCRIPT, "sh", &self.command])
                .stdin(Stdio::null())
                .stdout(status)
                .stderr(errors)
                // Its processes are a group of their own, so that all of them can be killed.
                .process_group(0)
                .spawn()
        });
        let mut child = spawned.map_err(|e| format!("sh cannot be run: {e}"))?;
        let Some(own_status) = wait(&mut child, self.time_limit) else {
            kill_group(&mut child);
            let limit = self.time_limit.as_secs();
            return Err(format!("killed after {limit} s{}", output.errors()));
        };
        // The shell's own status is that of `echo`, unless a signal ended it.
        match (output.exit_status(), own_status.and_then(|s| s.signal())) {
            (Some(0), _) => Ok(()),
            (Some(code), _) => Err(format!("exited with code {code}{}", output.errors())),
            (None, Some(signal)) => Err(format!("received signal {signal}{}", output.errors())),
            (None, None) => Err(format!("ended without an exit status{}", output.errors())),
        }
    }
}

/// Prints the template: values may be secrets.
impl fmt::Debug for KinitCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KinitCommand").field(&self.template).finish()
    }
}

/// Returns a template with the values of its variables.
fn expand(template: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, TemplateError> {
    let (mut expanded, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("%{") {
        let Some((name, after)) = after.split_once('}') else {
            return Err(TemplateError("a %{ has no }".into()));
        };
        let value = lookup(name).ok_or_else(|| TemplateError(format!("%{{{name}}} has no value")))?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns the default cache for a text.
fn cache_name() -> String {
    match env::var_os("KRB5CCNAME") {
        Some(name) => format!("KRB5CCNAME={}", name.to_string_lossy()),
        None => "the default one, because KRB5CCNAME is not set".into(),
    }
}

/// Waits for the end of the shell. Returns `None` when the time has passed, and `Some(None)` for an end without a status,
/// which another part of the process has taken.
fn wait(child: &mut Child, limit: Duration) -> Option<Option<ExitStatus>> {
    let (start, mut pause) = (Instant::now(), PAUSES.0);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(Some(status)),
            Ok(None) if start.elapsed() >= limit => return None,
            Ok(None) => thread::sleep(pause),
            // ECHILD
            Err(_) => return Some(None),
        }
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Kills the shell and its children, and waits for the shell.
fn kill_group(child: &mut Child) {
    if let Ok(group) = libc::pid_t::try_from(child.id()) {
        // SAFETY: kill(2) has no preconditions. The group exists: its leader was running and has not been waited for.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    // An error is ECHILD: the application has waited for it.
    let _ = child.wait();
}

/// Files in memory for the exit status and for standard error. Unlike pipes, they are never full, and processes that the
/// command leaves behind can write to them.
struct Output {
    status: File,
    errors: File,
}

impl Output {
    fn new() -> io::Result<Self> {
        Ok(Output {
            status: memory_file()?,
            errors: memory_file()?,
        })
    }

    /// Returns both for the command.
    fn stdio(&self) -> io::Result<(Stdio, Stdio)> {
        Ok((self.status.try_clone()?.into(), self.errors.try_clone()?.into()))
    }

    /// Returns the exit status that the script wrote.
    fn exit_status(&mut self) -> Option<i32> {
        text(&mut self.status).trim().parse().ok()
    }

    /// Returns the end of standard error as one line, after a separator.
    fn errors(&mut self) -> String {
        let text = text(&mut self.errors);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match lines.is_empty() {
            true => String::new(),
            false => format!(": {}", lines.join("; ").replace(char::is_control, "?")),
        }
    }
}

/// Returns the last [`OUTPUT_MAX`] bytes of a file as text.
fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |m| m.len());
    let start = SeekFrom::Start(length.saturating_sub(OUTPUT_MAX));
    // Without its output, an error is still an error.
    let _ = file
        .seek(start)
        .and_then(|_| Read::by_ref(file).take(OUTPUT_MAX).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns an empty file that has no name and exists in memory only.
fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a C string; the result is checked.
    let fd = unsafe { libc::memfd_create(c"kinit".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open and owned by nothing else.
    Ok(unsafe { File::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> KinitCommand {
        KinitCommand::new(text, "client@REALM", |_| None).unwrap()
    }

    fn failure(text: &str) -> String {
        command(text).run().unwrap_err()
    }

    #[test]
    fn variables_are_replaced_by_their_values() {
        let lookup = |name: &str| match name {
            "sasl.kerberos.keytab" => Some("/etc/a b".to_owned()),
            "empty" => Some(String::new()),
            _ => None,
        };
        let template = "kinit -t \"%{sasl.kerberos.keytab}\" -k %{empty}% {x} }";
        assert_eq!(expand(template, lookup).unwrap(), "kinit -t \"/etc/a b\" -k % {x} }");
        assert_eq!(expand("%{nosuch}", lookup).unwrap_err().0, "%{nosuch} has no value");
        assert_eq!(expand("a %{empty", lookup).unwrap_err().0, "a %{ has no }");
        assert_eq!(expand("", lookup).unwrap(), "");
    }

    #[test]
    fn a_command_that_succeeds_is_no_error_whatever_it_prints() {
        command("echo out; echo warning >&2; true").run().unwrap();
        command("false || exit 0").run().unwrap();
    }

    #[test]
    fn a_failure_has_exit_code_standard_error_and_principal() {
        let text = failure("echo 'no such\tkey' >&2; echo >&2; echo second >&2; exit 3");
        assert!(text.starts_with("Kerberos ticket refresh failed: echo"), "{text}");
        assert!(
            text.contains("exited with code 3: no such?key; second (principal client@REALM, cache"),
            "{text}"
        );
        assert!(failure("no-such-program-at-all").contains("exited with code 127: "));
        // The shell reports a signal as 128 and its number.
        assert!(failure("kill -TERM $$").contains("exited with code 143"));
        assert!(failure("kill -KILL $PPID").contains("received signal 9"));
    }

    #[test]
    fn values_are_not_in_an_error() {
        let command = KinitCommand::new("exit %{code}", "p", |_| Some("7 # secret".to_owned())).unwrap();
        let text = command.run().unwrap_err();
        assert!(text.contains("exit %{code}: exited with code 7"), "{text}");
        assert!(
            !text.contains("secret") && !format!("{command:?}").contains("secret"),
            "{text}"
        );
    }

    #[test]
    fn long_output_is_cut_at_its_start() {
        let text = failure("head -c 100000 /dev/zero | tr '\\0' a >&2; echo the end >&2; exit 1");
        assert!(text.contains("aaathe end"), "{text}");
        assert!(text.len() < 1000, "{}", text.len());
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_its_children() {
        let mut command = command("echo waits >&2; sleep 1000 & echo $! >&2; wait");
        command.time_limit = Duration::from_millis(300);
        let text = command.run().unwrap_err();
        let (_, pid) = text.split_once("waits; ").expect(&text);
        let pid = pid.split_once(' ').unwrap().0;
        assert!(text.contains("killed after 0 s"), "{text}");
        // The orphan ends at some time after the signal, and init reaps it at some later time.
        let ends = || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z")
        };
        let start = Instant::now();
        while !ends() {
            assert!(start.elapsed() < Duration::from_secs(10), "process {pid} runs");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_process_that_the_command_leaves_behind_is_not_waited_for() {
        let start = Instant::now();
        command("sleep 5 &").run().unwrap();
        assert!(start.elapsed() < Duration::from_secs(4));
    }

    #[test]
    fn the_exit_code_is_known_when_the_application_ignores_its_children() {
        // SIGCHLD is the process' own, so this runs in a child: this test of this program.
        const MARK: &str = "OTTLA_GSSAPI_IGNORES_CHILDREN";
        if env::var_os(MARK).is_some() {
            // SAFETY: an ignored signal runs no code.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
            command("true").run().unwrap();
            let text = failure("echo reason >&2; exit 4");
            assert!(text.contains("exited with code 4: reason"), "{text}");
            return;
        }
        let name = "kinit::tests::the_exit_code_is_known_when_the_application_ignores_its_children";
        let done = Command::new(env::current_exe().unwrap())
            .args(["--exact", name])
            .env(MARK, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && printed.contains("1 passed"), "{printed}");
    }
}
