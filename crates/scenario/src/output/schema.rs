//! The scenario file as JSON Schema, for editors and for generated models.

use serde_json::{Map, Value as Json, json};

use crate::file::File;
use crate::syntax::declaration::table_schema;

/// What the schema is called, with the number that `schema` has in a file. No address: nothing
/// needs to be fetched, `clearpipe schema` writes it.
const ID: &str = "urn:clearpipe:scenario:1";

/// The JSON Schema (2020-12) of a scenario file.
pub fn json_schema() -> Json {
    let mut definitions = Map::new();
    let mut schema = table_schema::<File>(&mut definitions);
    schema["$schema"] = Json::from("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = Json::from(ID);
    schema["title"] = Json::from("Clearpipe scenario");
    schema["oneOf"] = json!([{ "required": ["topology"] }, { "required": ["links"] }]);
    schema["$defs"] = Json::Object(definitions);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `$ref` below `value`.
    fn references(value: &Json, found: &mut Vec<String>) {
        match value {
            Json::Object(map) => {
                if let Some(Json::String(target)) = map.get("$ref") {
                    found.push(target.clone());
                }
                map.values().for_each(|value| references(value, found));
            }
            Json::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_has_its_definition() {
        let schema = json_schema();
        let mut found = Vec::new();
        references(&schema, &mut found);
        assert!(!found.is_empty());
        for target in found {
            let name = target.strip_prefix("#/$defs/").unwrap();
            assert!(schema["$defs"][name].is_object(), "{target}");
        }
    }
}
