//! The JSON Schemas of documents that we write ourselves.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// The JSON Schema of a `T` as serde writes it: a key is required unless serde may skip it, and one
/// that it may skip is never null.
///
/// # Panics
/// Never: a schema is JSON.
pub fn schema_as_written<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(RecursiveTransform(skipped_is_not_null));
    let schema = settings.into_generator().into_root_schema_for::<T>();
    serde_json::to_string_pretty(&schema).expect("a JSON Schema is JSON")
}

/// schemars lets every `Option` be null, also where serde skips `None`.
fn skipped_is_not_null(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or(json!([]));
    let is_required = |key: &str| {
        let mut all = required.as_array().into_iter().flatten();
        all.any(|name| name == key)
    };
    let properties = schema.get_mut("properties");
    let properties = properties.and_then(Value::as_object_mut);
    for (key, property) in properties.into_iter().flatten() {
        if !is_required(key) {
            drop_null(property);
        }
    }
}

/// Null is a type beside others (`["integer", "null"]`), or an alternative to one.
fn drop_null(property: &mut Value) {
    let Some(property) = property.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(others)) = property.get_mut("anyOf") {
        others.retain(|schema| *schema != json!({ "type": "null" }));
        if let [Value::Object(only)] = &others[..] {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only);
        }
    }
}
