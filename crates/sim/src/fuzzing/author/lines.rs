//! Values as TOML.

use serde_json::Value;

/// One line of TOML.
pub(super) fn line(key: &str, value: &Value) -> String {
    format!("{key} = {}\n", inline(value))
}

/// A value as TOML writes it in a line.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let entries: Vec<String> = table
                .iter()
                .map(|(key, value)| format!("{key:?} = {}", inline(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Number(number) if number.is_f64() => {
            format!("{:?}", number.as_f64().unwrap_or_default())
        }
        other => other.to_string(),
    }
}
