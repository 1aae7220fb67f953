//! Why a call does not fit: the reference's error types, and a reason for people.

use std::fmt;

use serde::{Serialize, Serializer};

/// The reference's `error_type` of a wrong answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// A Simple sample needs exactly one call.
    SimpleWrongCount,
    /// A Multiple sample needs exactly one call.
    MultipleWrongCount,
    /// A Parallel sample needs as many calls as expected.
    ParallelWrongCount,
    /// An expected call found no model call that fits.
    ParallelNoMatch,
    /// The call has another function's name.
    WrongName,
    /// A required parameter is missing.
    MissingRequired,
    /// A parameter that the schema or the answer does not have.
    UnexpectedParameter,
    /// A parameter that the answer has and does not call optional is missing.
    MissingOptional,
    /// Another type than the schema's or the answer's.
    Type,
    /// A list item of another type.
    NestedType,
    /// A Java argument that is not source text in a string.
    JavaType,
    /// A JavaScript argument that is not source text in a string.
    JavaScriptType,
    /// A string that is not among the allowed ones.
    String,
    /// A list that is not among the allowed ones.
    List,
    /// A dictionary with a key too many or too few.
    DictKey,
    /// A dictionary with a wrong value.
    DictValue,
    /// A dictionary where none is allowed.
    Dict,
    /// A list of dictionaries where none is allowed.
    ListOfDicts,
    /// A list with a wrong number of dictionaries.
    ListOfDictsCount,
    /// Any other value that is not among the allowed ones.
    Other,
}

impl ErrorType {
    /// The reference's name for it.
    pub fn name(self) -> &'static str {
        match self {
            ErrorType::SimpleWrongCount => "simple_function_checker:wrong_count",
            ErrorType::MultipleWrongCount => "multiple_function_checker:wrong_count",
            ErrorType::ParallelWrongCount => "parallel_function_checker_no_order:wrong_count",
            ErrorType::ParallelNoMatch => "parallel_function_checker_no_order:cannot_find_match",
            ErrorType::WrongName => "simple_function_checker:wrong_func_name",
            ErrorType::MissingRequired => "simple_function_checker:missing_required",
            ErrorType::UnexpectedParameter => "simple_function_checker:unexpected_param",
            ErrorType::MissingOptional => "simple_function_checker:missing_optional",
            ErrorType::Type => "type_error:simple",
            ErrorType::NestedType => "type_error:nested",
            ErrorType::JavaType => "type_error:java",
            ErrorType::JavaScriptType => "type_error:js",
            ErrorType::String => "value_error:string",
            ErrorType::List => "value_error:list/tuple",
            ErrorType::DictKey => "value_error:dict_key",
            ErrorType::DictValue => "value_error:dict_value",
            ErrorType::Dict => "dict_checker:unclear",
            ErrorType::ListOfDicts => "list_dict_checker:unclear",
            ErrorType::ListOfDictsCount => "value_error:list_dict_count",
            ErrorType::Other => "value_error:others",
        }
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for ErrorType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A call that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The reference's error type.
    pub error_type: ErrorType,
    /// What was found and what was expected.
    pub reason: String,
}

impl Mismatch {
    pub(super) fn new(error_type: ErrorType, reason: impl Into<String>) -> Mismatch {
        Mismatch {
            error_type,
            reason: reason.into(),
        }
    }
}
