//! Profiles of AWS's files `config` and `credentials`.

use std::collections::BTreeMap;

use crate::file;
use crate::http::Environment;

/// Maximum size of a file, in bytes.
const FILE_MAX: usize = 1 << 20;

/// The settings of one profile.
#[derive(Default)]
pub(super) struct Profile {
    values: BTreeMap<String, zeroize::Zeroizing<String>>,
}

impl Profile {
    /// Returns a value that is not empty.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.values
            .get(key)
            .map(|value| value.as_str())
            .filter(|value| !value.is_empty())
    }
}

/// Returns the name of the profile that the environment selects, and whether it is set.
pub(super) fn selected(environment: &Environment) -> (String, bool) {
    let set = environment
        .get("AWS_PROFILE")
        .or_else(|| environment.get("AWS_DEFAULT_PROFILE"));
    match set {
        Some(name) => (name, true),
        None => ("default".to_owned(), false),
    }
}

/// Reads a profile from both files. The file `credentials` has precedence.
///
/// # Errors
/// No file has the profile; the files that cannot be read.
pub(super) fn read(name: &str, environment: &Environment) -> Result<Profile, String> {
    let home = environment.get("HOME").unwrap_or_default();
    let path = |variable: &str, file: &str| {
        let set = environment.get(variable);
        set.unwrap_or_else(|| format!("{home}/.aws/{file}"))
    };
    let config = path("AWS_CONFIG_FILE", "config");
    let credentials = path("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let in_config = match name {
        "default" => vec!["default".to_owned(), "profile default".to_owned()],
        _ => vec![format!("profile {name}")],
    };
    let mut profile = Profile::default();
    let mut found = false;
    let mut problems = Vec::new();
    for (path, sections) in [(config, in_config), (credentials, vec![name.to_owned()])] {
        match file::read(&path, FILE_MAX) {
            Ok(bytes) => {
                let text = zeroize::Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned());
                if add_sections(&text, &sections, &mut profile) {
                    found = true;
                } else {
                    problems.push(format!("{path} does not have it"));
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    match found {
        true => Ok(profile),
        false => Err(problems.join(", ")),
    }
}

/// Adds the settings of some sections to a profile. Returns whether there is such a section. Nested settings, which are
/// indented, are ignored.
fn add_sections(text: &str, sections: &[String], profile: &mut Profile) -> bool {
    let mut inside = false;
    let mut found = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(title) = trimmed.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let words: Vec<&str> = title.0.split_whitespace().collect();
            inside = sections.contains(&words.join(" "));
            found |= inside;
            continue;
        }
        let nested = line.starts_with([' ', '\t']);
        if let Some((key, value)) = trimmed.split_once('=')
            && inside
            && !nested
        {
            let value = value.split(" #").next().unwrap_or_default().trim();
            profile.values.insert(
                key.trim().to_ascii_lowercase(),
                zeroize::Zeroizing::new(value.to_owned()),
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_sections_are_read() {
        let text = "region=none\n[default]\nregion = us-east-1 # home\ns3 =\n  region = nested\n; comment\n\
                    [ profile   other ]\nregion=eu-west-1\nAWS_Access_Key_ID=A#B\nno pair\n[default\nregion=cut\n";
        let mut profile = Profile::default();
        assert!(add_sections(text, &["default".to_owned()], &mut profile));
        assert_eq!(profile.get("region"), Some("us-east-1"));
        assert_eq!(profile.get("s3"), None);
        let mut profile = Profile::default();
        assert!(add_sections(text, &["profile other".to_owned()], &mut profile));
        assert_eq!(profile.get("aws_access_key_id"), Some("A#B"));
        assert_eq!(profile.get("region"), Some("cut"), "a line that is no title is ignored");
        assert!(!add_sections(text, &["other".to_owned()], &mut profile));
    }
}
