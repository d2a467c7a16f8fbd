//! Converts the suspected cause of an incident to its API block, and back.

use mainstay_model as model;
use mainstay_model::NodeName;

use super::ConversionError;
use crate::{DomainSubject, PartSubject, Subject, SubjectType};

impl Subject {
    /// The API block of a subject. A part is named together with the node that holds it.
    #[must_use]
    pub fn of(subject: &model::Subject, node: &NodeName) -> Self {
        let none = |type_| Self { type_, part: None, node: None, domain: None, driver: None };
        match subject {
            model::Subject::Part { part, serial } => {
                let part = PartSubject { part: *part, serial: serial.clone(), node: node.clone() };
                Self { part: Some(part), ..none(SubjectType::Part) }
            }
            model::Subject::Node(node) => Self { node: Some(node.clone()), ..none(SubjectType::Node) },
            model::Subject::Domain { level, name } => {
                let domain = DomainSubject { level: *level, name: name.clone() };
                Self { domain: Some(domain), ..none(SubjectType::Domain) }
            }
            model::Subject::Driver(version) => Self { driver: Some(version.clone()), ..none(SubjectType::Driver) },
        }
    }
}

impl TryFrom<&Subject> for model::Subject {
    type Error = ConversionError;

    fn try_from(subject: &Subject) -> Result<Self, ConversionError> {
        let Subject { type_, part, node, domain, driver } = subject;
        match (type_, part, node, domain, driver) {
            (SubjectType::Part, Some(part), None, None, None) => {
                Ok(Self::Part { part: part.part, serial: part.serial.clone() })
            }
            (SubjectType::Node, None, Some(node), None, None) => Ok(Self::Node(node.clone())),
            (SubjectType::Domain, None, None, Some(domain), None) => {
                Ok(Self::Domain { level: domain.level, name: domain.name.clone() })
            }
            (SubjectType::Driver, None, None, None, Some(version)) => Ok(Self::Driver(version.clone())),
            (SubjectType::Part | SubjectType::Node | SubjectType::Domain | SubjectType::Driver, ..) => {
                let found = "another block than its type names, or several";
                Err(ConversionError::Choice { field: "subject", found, choices: "the one block that its type names" })
            }
        }
    }
}
