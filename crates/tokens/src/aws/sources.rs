//! The sources of credentials and regions, those in which AWS's own programs look for them.

use std::time::Duration;

use zeroize::Zeroizing;

use super::credentials::Credentials;
use super::profile::{self, Profile};
use super::sts::Sts;
use crate::file;
use crate::http::{Deadline, Environment, HttpClient, HttpsTrust, Request, Response, Url};
use crate::json;

/// The address of the metadata service on virtual machines.
const INSTANCE_URL: &str = "http://169.254.169.254";
/// The address of the credentials of containers.
const CONTAINER_URL: &str = "http://169.254.170.2";
/// Hosts to which credentials of containers may be requested without TLS.
const CONTAINER_HOSTS: &[&str] = &[
    "169.254.170.2",
    "169.254.170.23",
    "fd00:ec2::23",
    "127.0.0.1",
    "::1",
    "localhost",
];
/// Maximum duration of a request to the metadata service: other machines do not answer.
const INSTANCE_MAX: Duration = Duration::from_secs(2);
/// Maximum size of a file with a token, in bytes.
const TOKEN_FILE_MAX: usize = 64 << 10;
/// Maximum number of profiles that refer to one another.
const PROFILES_MAX: usize = 5;

/// Finds credentials and regions.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    pub(super) environment: Environment,
    /// The profile that the settings name.
    pub(super) profile: Option<String>,
    /// For services on the network.
    pub(super) http: HttpClient,
    /// For services of the machine.
    pub(super) local: HttpClient,
}

impl Sources {
    pub(super) fn new(trust: HttpsTrust, environment: Environment, profile: Option<String>) -> Self {
        Sources {
            http: HttpClient::new(trust.clone(), environment.clone()),
            local: HttpClient::without_proxy(trust),
            environment,
            profile,
        }
    }

    /// Returns the name of the profile, and whether the user has chosen it.
    fn profile_name(&self) -> (String, bool) {
        match &self.profile {
            Some(name) => (name.clone(), true),
            None => profile::selected(&self.environment),
        }
    }

    /// Returns the region: that of the settings, of the environment, of the profile, or of the machine.
    pub(super) fn region(&self, configured: Option<&str>, deadline: Deadline) -> Result<String, String> {
        if let Some(region) = configured {
            return Ok(region.to_owned());
        }
        let set = |name| self.environment.get(name);
        let region = match set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION")) {
            Some(region) => Ok(region),
            None => {
                let of_profile = profile::read(&self.profile_name().0, &self.environment).ok();
                match of_profile.as_ref().and_then(|profile| profile.get("region")) {
                    Some(region) => Ok(region.to_owned()),
                    None => self.instance_region(deadline),
                }
            }
        };
        match region {
            Ok(region) if super::config::is_region(&region) => Ok(region),
            Ok(region) => Err(format!("the region \"{}\" is not valid", crate::text::shown(&region))),
            Err(cause) => Err(format!(
                "the region is unknown: set region= in sasl.oauthbearer.config, AWS_REGION or the profile's region \
                 (instance metadata: {cause})"
            )),
        }
    }

    /// Returns the credentials of the first source that has any.
    pub(super) fn credentials(&self, region: &str, deadline: Deadline) -> Result<Credentials, String> {
        let mut tried = Vec::new();
        if self.profile.is_none() {
            match self.of_environment()? {
                Some(credentials) => return Ok(credentials),
                None => tried.push("AWS_ACCESS_KEY_ID is not set".to_owned()),
            }
            match self.of_web_identity(region, deadline)? {
                Some(credentials) => return Ok(credentials),
                None => tried.push("AWS_WEB_IDENTITY_TOKEN_FILE is not set".to_owned()),
            }
        }
        let (name, chosen) = self.profile_name();
        match self.of_profile(&name, region, deadline, 1) {
            Ok(Some(credentials)) => return Ok(credentials),
            Ok(None) => tried.push(format!("the profile {name} has no credentials")),
            Err(cause) if chosen => return Err(format!("profile {name}: {cause}")),
            Err(cause) => tried.push(format!("profile {name}: {cause}")),
        }
        match self.of_container(deadline)? {
            Some(credentials) => return Ok(credentials),
            None => tried.push("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is not set".to_owned()),
        }
        match self.of_instance(deadline) {
            Ok(credentials) => Ok(credentials),
            Err(cause) => {
                tried.push(format!("instance metadata: {cause}"));
                Err(format!("no AWS credentials: {}", tried.join("; ")))
            }
        }
    }

    fn of_environment(&self) -> Result<Option<Credentials>, String> {
        let get = |name| self.environment.get(name).map(Zeroizing::new);
        let Some(id) = get("AWS_ACCESS_KEY_ID") else {
            return Ok(None);
        };
        let Some(secret) = get("AWS_SECRET_ACCESS_KEY") else {
            return Err("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not".to_owned());
        };
        let token = get("AWS_SESSION_TOKEN");
        let credentials = Credentials::fixed(&id, &secret, token.as_ref().map(|token| token.as_str()));
        credentials
            .validated()
            .map(Some)
            .map_err(|cause| format!("AWS_ACCESS_KEY_ID: {cause}"))
    }

    fn sts(&self, region: &str) -> Result<Sts, String> {
        Sts::new(
            self.environment.get("AWS_ENDPOINT_URL_STS").as_deref(),
            region,
            self.http.clone(),
        )
    }

    fn of_web_identity(&self, region: &str, deadline: Deadline) -> Result<Option<Credentials>, String> {
        let Some(path) = self.environment.get("AWS_WEB_IDENTITY_TOKEN_FILE") else {
            return Ok(None);
        };
        let Some(role) = self.environment.get("AWS_ROLE_ARN") else {
            return Err("AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not".to_owned());
        };
        let session = self.environment.get("AWS_ROLE_SESSION_NAME");
        self.assume_with_file(&path, &role, session.as_deref(), region, deadline)
            .map(Some)
    }

    fn assume_with_file(
        &self,
        path: &str,
        role: &str,
        session: Option<&str>,
        region: &str,
        deadline: Deadline,
    ) -> Result<Credentials, String> {
        let bytes = file::read(path, TOKEN_FILE_MAX).map_err(|cause| format!("web identity token: {cause}"))?;
        let token = std::str::from_utf8(bytes.trim_ascii()).map_err(|_| format!("{path}: it is not a token"))?;
        self.sts(region)?
            .assume_with_web_identity(role, session, token, deadline)
    }

    /// Returns the credentials of a profile; `None` if it has none.
    fn of_profile(
        &self,
        name: &str,
        region: &str,
        deadline: Deadline,
        depth: usize,
    ) -> Result<Option<Credentials>, String> {
        if depth > PROFILES_MAX {
            return Err(format!("more than {PROFILES_MAX} profiles refer to one another"));
        }
        let profile = profile::read(name, &self.environment)?;
        let get = |key| profile.get(key);
        if let Some(role) = get("role_arn") {
            let session = get("role_session_name");
            if let Some(path) = get("web_identity_token_file") {
                return self.assume_with_file(path, role, session, region, deadline).map(Some);
            }
            let own = self.source_of_role(name, &profile, region, deadline, depth)?;
            let external = get("external_id");
            let sts = self.sts(
                get("region")
                    .filter(|name| super::config::is_region(name))
                    .unwrap_or(region),
            )?;
            return sts.assume(role, session, external, &own, deadline).map(Some);
        }
        if let Some(credentials) = fixed_of(&profile) {
            return credentials.validated().map(Some);
        }
        let unsupported = ["credential_process", "sso_session", "sso_start_url", "login_session"];
        match unsupported.iter().find(|key| get(key).is_some()) {
            Some(key) => Err(format!("{key} is not supported")),
            None => Ok(None),
        }
    }

    /// Returns the credentials by which a profile's role is assumed.
    fn source_of_role(
        &self,
        name: &str,
        profile: &Profile,
        region: &str,
        deadline: Deadline,
        depth: usize,
    ) -> Result<Credentials, String> {
        let missing = |what: &str| format!("{what} has no credentials");
        match (profile.get("source_profile"), profile.get("credential_source")) {
            (Some(source), _) if source == name => fixed_of(profile).ok_or_else(|| missing("source_profile")),
            (Some(source), _) => self
                .of_profile(source, region, deadline, depth + 1)
                .map_err(|cause| format!("source_profile {source}: {cause}"))?
                .ok_or_else(|| missing("source_profile")),
            (None, Some("Environment")) => self.of_environment()?.ok_or_else(|| missing("the environment")),
            (None, Some("Ec2InstanceMetadata")) => self.of_instance(deadline),
            (None, Some("EcsContainer")) => self.of_container(deadline)?.ok_or_else(|| missing("the container")),
            (None, Some(other)) => Err(format!("credential_source={} is unknown", crate::text::shown(other))),
            (None, None) => {
                Err("role_arn needs source_profile, credential_source or web_identity_token_file".to_owned())
            }
        }
    }

    /// Returns the credentials of a container; `None` if the process is not in one.
    fn of_container(&self, deadline: Deadline) -> Result<Option<Credentials>, String> {
        const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
        const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
        let get = |name| self.environment.get(name);
        let (variable, text) = match (get(RELATIVE), get(FULL)) {
            (Some(path), _) => (RELATIVE, format!("{CONTAINER_URL}{path}")),
            (None, Some(url)) => (FULL, url),
            (None, None) => return Ok(None),
        };
        let url = Url::parse(&text).map_err(|cause| format!("{variable}: {cause}"))?;
        if !url.is_https() && !CONTAINER_HOSTS.contains(&url.host()) {
            return Err(format!(
                "{variable}: its host is not one of a container, and it is not https"
            ));
        }
        let authorization = match get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
            Some(path) => {
                let bytes = file::read(&path, TOKEN_FILE_MAX)?;
                Some(Zeroizing::new(String::from_utf8_lossy(bytes.trim_ascii()).into_owned()))
            }
            None => get("AWS_CONTAINER_AUTHORIZATION_TOKEN").map(Zeroizing::new),
        };
        let headers: Vec<(&'static str, &str)> = authorization
            .iter()
            .map(|value| ("authorization", value.as_str()))
            .collect();
        let response = ask(&self.local, "GET", &url, &headers, deadline);
        let credentials = response.and_then(|response| Credentials::of_json(&json::object(&response.body)?));
        credentials
            .map(Some)
            .map_err(|cause| format!("container credentials from \"{url}\": {cause}"))
    }

    fn of_instance(&self, deadline: Deadline) -> Result<Credentials, String> {
        const PATH: &str = "/latest/meta-data/iam/security-credentials/";
        let instance = self.instance(deadline)?;
        let roles = instance.get(PATH, deadline)?;
        let role = text_of(&roles)?.lines().next().unwrap_or_default();
        if role.is_empty() {
            return Err("the machine has no role".to_owned());
        }
        let answer = instance.get(&format!("{PATH}{}", super::sigv4::percent_encoded(role)), deadline)?;
        Credentials::of_json(&json::object(&answer.body)?)
    }

    fn instance_region(&self, deadline: Deadline) -> Result<String, String> {
        let answer = self
            .instance(deadline)?
            .get("/latest/meta-data/placement/region", deadline)?;
        text_of(&answer).map(str::to_owned)
    }

    /// Begins a session with the metadata service of version 2.
    fn instance(&self, deadline: Deadline) -> Result<Instance<'_>, String> {
        let get = |name| self.environment.get(name);
        if get("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Err("AWS_EC2_METADATA_DISABLED is set".to_owned());
        }
        let base = get("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or_else(|| INSTANCE_URL.to_owned());
        let base = base.trim_end_matches('/').to_owned();
        let url = Url::parse(&format!("{base}/latest/api/token")).map_err(str::to_owned)?;
        let headers = [("x-aws-ec2-metadata-token-ttl-seconds", "60")];
        let answer = ask(&self.local, "PUT", &url, &headers, deadline.at_most(INSTANCE_MAX))?;
        let token = Zeroizing::new(text_of(&answer)?.to_owned());
        Ok(Instance {
            http: &self.local,
            base,
            token,
        })
    }
}

fn fixed_of(profile: &Profile) -> Option<Credentials> {
    let (id, secret) = (profile.get("aws_access_key_id")?, profile.get("aws_secret_access_key")?);
    Some(Credentials::fixed(id, secret, profile.get("aws_session_token")))
}

/// A session with the metadata service.
struct Instance<'s> {
    http: &'s HttpClient,
    base: String,
    token: Zeroizing<String>,
}

impl Instance<'_> {
    fn get(&self, path: &str, deadline: Deadline) -> Result<Response, String> {
        let url = Url::parse(&format!("{}{path}", self.base)).map_err(str::to_owned)?;
        let headers = [("x-aws-ec2-metadata-token", self.token.as_str())];
        ask(self.http, "GET", &url, &headers, deadline.at_most(INSTANCE_MAX))
    }
}

/// Sends a request without a body. An answer that is not a success is an error.
fn ask(
    http: &HttpClient,
    method: &'static str,
    url: &Url,
    headers: &[(&'static str, &str)],
    deadline: Deadline,
) -> Result<Response, String> {
    let request = Request {
        method,
        url,
        headers,
        body: b"",
    };
    let response = http.send(&request, deadline).map_err(|error| error.text().to_owned())?;
    match response.is_success() {
        true => Ok(response),
        false => Err(format!("HTTP status {}", response.status_text())),
    }
}

fn text_of(response: &Response) -> Result<&str, String> {
    let text = std::str::from_utf8(&response.body).ok();
    text.map(str::trim).ok_or_else(|| "the answer is not a text".to_owned())
}
