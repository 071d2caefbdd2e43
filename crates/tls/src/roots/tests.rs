use std::path::PathBuf;

use super::*;

fn certificates(names: &[&str]) -> Vec<CertificateDer<'static>> {
    let text = include_str!("../../testdata/verify/certificates.txt");
    let find = |name: &&str| {
        let line = text
            .lines()
            .find(|line| line.split_once(' ').is_some_and(|(found, _)| found == *name))
            .unwrap();
        let pem = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            line.split_once(' ').unwrap().1
        );
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    };
    names.iter().map(find).collect()
}

fn pem(names: &[&str]) -> String {
    let text = include_str!("../../testdata/verify/certificates.txt");
    let find = |name: &&str| {
        let line = text
            .lines()
            .find(|line| line.split_once(' ').is_some_and(|(found, _)| found == *name))
            .unwrap();
        format!(
            "# {name}\n-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            line.split_once(' ').unwrap().1
        )
    };
    names.iter().map(find).collect()
}

/// A folder that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ottla-tls-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn certificates_are_counted_once_and_unreadable_ones_are_warned_of() {
    let mut store = CaStore::new();
    assert_eq!((store.is_empty(), store.source().as_str()), (true, "no source"));
    let mut all = certificates(&["root", "int", "root"]);
    all.push(CertificateDer::from(vec![0x30, 0]));
    let warnings = store.add("ssl.ca.location=/ca.pem", all);
    assert_eq!(
        warnings,
        ["ssl.ca.location=/ca.pem: certificate 4 is not used: it cannot be read: an element is cut off"]
    );
    assert!(store.add("ssl.ca.pem", certificates(&["int", "sub"])).is_empty());
    assert_eq!(
        (store.len(), store.source().as_str()),
        (3, "ssl.ca.location=/ca.pem and ssl.ca.pem")
    );
    assert_eq!(store.certificates(), certificates(&["root", "int", "sub"]));
    for (index, anchor) in store.anchors().iter().enumerate() {
        assert_eq!(store.certificate_of(anchor), store.certificates().get(index));
    }
    // An equal anchor that is not the store's own has no certificate.
    assert_eq!(store.certificate_of(&store.anchors()[0].clone()), None);
}

#[test]
fn a_directory_yields_hash_names_and_usual_endings_and_warns_of_the_rest() {
    let folder = Folder::new("directory");
    folder.write("3387b84d.0", pem(&["root"]));
    folder.write("3387b84d.r0", "a revocation list");
    folder.write("several.pem", pem(&["int", "sub"]));
    folder.write("der.CER", certificates(&["root-other-name"])[0].as_ref());
    folder.write("again.crt", pem(&["root"]));
    folder.write(
        "broken.pem",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
    );
    folder.write("empty.pem", "");
    folder.write("key.key", pem(&["root-expired"]));
    folder.write("3387b84.0", pem(&["root-expired"]));
    fs::create_dir(folder.0.join("folder.pem")).unwrap();
    let mut store = CaStore::new();
    let warnings = store.add_directory("ssl.ca.location=/certs", &folder.0).unwrap();
    assert_eq!(store.len(), 4, "{warnings:?}");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("broken.pem"), "{warnings:?}");
    assert!(
        warnings[1].contains("folder.pem: it is not a regular file"),
        "{warnings:?}"
    );
    assert_eq!(store.source(), "ssl.ca.location=/certs");
    let error = store.add_directory("x", &folder.0.join("missing")).unwrap_err();
    assert!(error.contains("missing: No such file or directory"), "{error}");
}

#[test]
fn the_probe_uses_the_first_location_with_certificates() {
    let folder = Folder::new("probe");
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    folder.write("empty", "");
    folder.write("broken", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
    folder.write("bundle", pem(&["root", "int"]));
    folder.write("later", pem(&["sub"]));
    let locations = ["missing", "empty", "broken", "bundle", "later"].map(path);
    let locations: Vec<&str> = locations.iter().map(String::as_str).collect();
    let mut store = CaStore::new();
    let warnings = store.add_first_of(&locations);
    assert_eq!((store.len(), store.source()), (2, path("bundle")));
    assert_eq!(warnings.len(), 1, "{warnings:?}");

    let mut store = CaStore::new();
    assert!(store.add_first_of(&locations[..2]).is_empty());
    assert_eq!(
        (store.len(), store.source().as_str()),
        (0, "the system's locations, which hold no certificates")
    );
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = Folder::new("large");
    let file = fs::File::create(folder.0.join("large.pem")).unwrap();
    file.set_len(FILE_LEN_MAX + 1).unwrap();
    let error = read_file(&folder.0.join("large.pem")).unwrap_err();
    assert!(error.contains("more than"), "{error}");
}

#[test]
fn set_variables_are_obeyed_even_without_certificates() {
    let variable = || vec!["SSL_CERT_FILE=/missing".to_owned()];
    let mut store = CaStore::new();
    let warnings = store.add_native(Vec::new(), vec!["/missing: not found".to_owned()], &variable());
    assert_eq!(warnings, ["/missing: not found"]);
    assert_eq!((store.len(), store.source().as_str()), (0, "SSL_CERT_FILE=/missing"));

    let mut store = CaStore::new();
    assert!(
        store
            .add_native(certificates(&["root"]), Vec::new(), &variable())
            .is_empty()
    );
    assert_eq!((store.len(), store.source().as_str()), (1, "SSL_CERT_FILE=/missing"));

    let mut store = CaStore::new();
    assert!(store.add_native(certificates(&["root"]), Vec::new(), &[]).is_empty());
    assert_eq!(
        (store.len(), store.source().as_str()),
        (1, "the system's CA certificates")
    );
}
