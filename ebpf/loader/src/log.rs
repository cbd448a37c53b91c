//! What the service says: a line of text or a JSON object for each event, on stderr.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

/// The form of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people; journald adds the time.
    #[default]
    Text,
    /// One object per line: time, level, event, message, and what it is about.
    Json,
}

impl Format {
    /// By its name.
    pub fn of(name: &str) -> Option<Format> {
        match name {
            "text" => Some(Format::Text),
            "json" => Some(Format::Json),
            _ => None,
        }
    }
}

/// Where the service's lines go.
#[derive(Clone, Copy, Debug)]
pub struct Log(pub Format);

impl Log {
    /// Something happened that is as it should be.
    pub fn info(self, event: &str, message: &str, about: Value) {
        self.say("info", event, message, about);
    }

    /// Something that somebody should look at.
    pub fn warning(self, event: &str, message: &str, about: Value) {
        self.say("warning", event, message, about);
    }

    #[expect(clippy::disallowed_methods, reason = "the wall clock is what a log is to show")]
    fn say(self, level: &str, event: &str, message: &str, about: Value) {
        match self.0 {
            Format::Text if level == "info" => eprintln!("{message}"),
            Format::Text => eprintln!("{level}: {message}"),
            Format::Json => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                eprintln!("{}", line(now.as_secs_f64(), level, event, message, about));
            }
        }
    }
}

/// The time is in seconds since 1970.
fn line(time: f64, level: &str, event: &str, message: &str, about: Value) -> Value {
    let mut line = Map::new();
    line.insert("time".to_owned(), time.into());
    for (key, value) in [("level", level), ("event", event), ("message", message)] {
        line.insert(key.to_owned(), value.into());
    }
    if let Value::Object(about) = about {
        line.extend(about);
    }
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_object() {
        let about = serde_json::json!({"dev": "eth0", "netns": null});
        let said = line(1.5, "info", "loaded", "vcp\non eth0", about).to_string();
        assert_eq!(
            said,
            r#"{"dev":"eth0","event":"loaded","level":"info","message":"vcp\non eth0","netns":null,"time":1.5}"#
        );
    }
}
