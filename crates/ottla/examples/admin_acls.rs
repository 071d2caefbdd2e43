//! Administers access control entries.
//!
//! ```text
//! admin_acls BROKERS add    RESOURCE --principal NAME --operation NAME... [--host HOST] [--deny]
//! admin_acls BROKERS list   [RESOURCE] [--principal NAME] [--operation NAME] [--host HOST] [--deny]
//! admin_acls BROKERS remove RESOURCE   [--principal NAME] [--operation NAME] [--host HOST] [--deny]
//! ```
//!
//! RESOURCE is `--topic NAME`, `--group NAME`, `--transactional-id NAME` or `--cluster`; with `--prefixed` the name is a
//! prefix. list and remove select the entries that have all that is named; remove prints what it has removed. Principals are
//! as in `User:alice`, operations as in `Read` or `DescribeConfigs`. Exit status: 0, 1 for an error of the brokers, 2 for
//! wrong arguments.

mod support;

use std::process::ExitCode;

use ottla::admin::{AclBinding, AclFilter, AclOperation, AclResourceType, PatternType, PermissionType};
use support::{Failure, connect, exit, values, wrong};

const PROGRAM: &str = "admin_acls";

/// The options of the command line: a filter, whose operation may occur several times.
#[derive(Default)]
struct Entry {
    filter: AclFilter,
    operations: Vec<AclOperation>,
}

fn parse(arguments: &[&str]) -> Result<Entry, Failure> {
    let mut entry = Entry::default();
    let filter = &mut entry.filter;
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        match *option {
            "--cluster" => {
                filter.resource_type = AclResourceType::CLUSTER;
                filter.name = Some("kafka-cluster".into());
                continue;
            }
            "--prefixed" => {
                filter.pattern_type = PatternType::PREFIXED;
                continue;
            }
            "--deny" => {
                filter.permission_type = PermissionType::DENY;
                continue;
            }
            _ => {}
        }
        let value = rest.next().map(|value| (*value).to_owned());
        let value = value.ok_or_else(|| wrong(*option, "no such option, or it has no value"))?;
        let resource_type = match *option {
            "--topic" => AclResourceType::TOPIC,
            "--group" => AclResourceType::GROUP,
            "--transactional-id" => AclResourceType::TRANSACTIONAL_ID,
            "--principal" => {
                filter.principal = Some(value);
                continue;
            }
            "--host" => {
                filter.host = Some(value);
                continue;
            }
            "--operation" => {
                let operation = value.parse().map_err(|_| wrong(value, "no such operation"))?;
                entry.operations.push(operation);
                continue;
            }
            _ => return Err(wrong(*option, "no such option")),
        };
        filter.resource_type = resource_type;
        filter.name = Some(value);
    }
    Ok(entry)
}

/// Returns the entries to create: one for each operation.
fn bindings(entry: Entry) -> Result<Vec<AclBinding>, Failure> {
    let Entry { filter, operations } = entry;
    let (Some(name), Some(principal), false) = (filter.name, filter.principal, operations.is_empty()) else {
        return Err(wrong("add", "needs a resource, --principal and --operation"));
    };
    let host = filter.host.unwrap_or_else(|| "*".into());
    let pattern_type = match filter.pattern_type {
        PatternType::ANY => PatternType::LITERAL,
        pattern => pattern,
    };
    let permission_type = match filter.permission_type {
        PermissionType::ANY => PermissionType::ALLOW,
        permission => permission,
    };
    let binding = |operation| AclBinding {
        resource_type: filter.resource_type,
        name: name.clone(),
        pattern_type,
        principal: principal.clone(),
        host: host.clone(),
        operation,
        permission_type,
    };
    Ok(operations.into_iter().map(binding).collect())
}

/// Returns the filter of list and remove.
fn filter(entry: Entry) -> Result<AclFilter, Failure> {
    match entry.operations.as_slice() {
        [] => Ok(entry.filter),
        [operation] => Ok(AclFilter {
            operation: *operation,
            ..entry.filter
        }),
        _ => Err(wrong("--operation", "one at a time")),
    }
}

fn print(acl: &AclBinding) {
    println!(
        "{} {} {}: {} {} {} from {}",
        acl.resource_type, acl.pattern_type, acl.name, acl.principal, acl.permission_type, acl.operation, acl.host
    );
}

fn run(arguments: &[&str]) -> Result<(), Failure> {
    let [brokers, command, rest @ ..] = arguments else {
        return Err(wrong("usage", "admin_acls BROKERS add|list|remove ..."));
    };
    let entry = parse(rest)?;
    let (admin, options) = connect(brokers)?;
    match *command {
        "add" => {
            let created = admin.create_acls(bindings(entry)?, &options).wait()?.into_iter();
            values(PROGRAM, created.map(|(acl, result)| (acl.operation, result))).map(|_| ())
        }
        "list" => {
            for acl in admin.describe_acls(filter(entry)?, &options).wait()? {
                print(&acl);
            }
            Ok(())
        }
        "remove" if entry.filter.name.is_none() => Err(wrong("remove", "needs a resource")),
        "remove" => {
            let deleted = admin.delete_acls([filter(entry)?], &options).wait()?;
            for (_, matched) in deleted {
                let matched = matched?.into_iter();
                let matched = matched.map(|(acl, result)| (acl.name.clone(), result.map(|()| acl)));
                for (_, acl) in values(PROGRAM, matched)? {
                    print(&acl);
                }
            }
            Ok(())
        }
        command => Err(wrong(command, "no such command")),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    exit(PROGRAM, run(&arguments))
}
