//! What a C file of a kernel module says of itself, as far as its text shows it without a compiler.

use std::collections::BTreeMap;

/// The function that makes a `struct tcp_congestion_ops` known to the kernel.
const REGISTER: &str = "tcp_register_congestion_control";

/// What a module says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Module {
    /// The names of what it registers, in order; `None` of one whose name its text does not show.
    pub registered: Vec<Option<String>>,
    /// Its parameters.
    pub params: Vec<ModuleParam>,
    /// The files that it includes by quotes.
    pub includes: Vec<String>,
}

/// A parameter of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleParam {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ParamType,
    /// What `MODULE_PARM_DESC` says of it; may be empty.
    pub meaning: String,
}

/// What a parameter of a module holds, as `include/linux/moduleparam.h` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// Whole numbers of a C type, with the least and the most that this has.
    Whole(&'static str, i128, i128),
    /// Yes or no.
    Switch,
    /// What functions of the module's own read: numbers, as far as a study can say.
    Own,
    /// Something else, which a study cannot set.
    Other,
}

const WHOLE: [ParamType; 9] = [
    ParamType::Whole("byte", 0, u8::MAX as i128),
    ParamType::Whole("short", i16::MIN as i128, i16::MAX as i128),
    ParamType::Whole("ushort", 0, u16::MAX as i128),
    ParamType::Whole("int", i32::MIN as i128, i32::MAX as i128),
    ParamType::Whole("uint", 0, u32::MAX as i128),
    ParamType::Whole("hexint", 0, u32::MAX as i128),
    ParamType::Whole("long", i64::MIN as i128, i64::MAX as i128),
    ParamType::Whole("ulong", 0, u64::MAX as i128),
    ParamType::Whole("ullong", 0, u64::MAX as i128),
];

impl ParamType {
    fn of(name: &str) -> ParamType {
        let is = |kind: &&ParamType| matches!(kind, ParamType::Whole(known, ..) if *known == name);
        match name {
            "bool" | "invbool" => ParamType::Switch,
            _ => WHOLE.iter().find(is).copied().unwrap_or(ParamType::Other),
        }
    }

    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            ParamType::Whole(name, ..) => name,
            ParamType::Switch => "bool",
            ParamType::Own => "own type",
            ParamType::Other => "text",
        }
    }
}

impl Module {
    /// Reads `text`. What `#if 0` takes out is not there; other conditions are as if they held.
    pub fn read(text: &str) -> Module {
        let source = Source::read(text);
        let tokens = &source.tokens;
        let mut ops: BTreeMap<&str, Option<String>> = BTreeMap::new();
        let mut registered: Vec<&str> = Vec::new();
        let mut params: Vec<ModuleParam> = Vec::new();
        let mut meanings: BTreeMap<&str, String> = BTreeMap::new();
        for (at, token) in tokens.iter().enumerate() {
            let rest = &tokens[at + 1..];
            match *token {
                Token::Word("tcp_congestion_ops") => {
                    if let Some((name, initializer)) = initialized(rest) {
                        ops.insert(name, source.name_in(initializer));
                    }
                }
                Token::Word(REGISTER) => {
                    if let [Token::Mark('('), Token::Mark('&'), Token::Word(name), ..] = rest
                        && !registered.contains(name)
                    {
                        registered.push(name);
                    }
                }
                Token::Word("MODULE_PARM_DESC") => {
                    if let [
                        Token::Mark('('),
                        Token::Word(name),
                        Token::Mark(','),
                        text @ ..,
                    ] = rest
                    {
                        meanings.insert(name, joined(text));
                    }
                }
                Token::Word(word) => params.extend(param(word, rest)),
                _ => {}
            }
        }
        for param in &mut params {
            param.meaning = meanings.remove(&*param.name).unwrap_or_default();
        }
        let name_of = |name: &&str| ops.get(name).cloned().flatten();
        Module {
            registered: registered.iter().map(name_of).collect(),
            params,
            includes: source.includes,
        }
    }
}

/// Whether `text` defines the function `name`.
pub(super) fn defines(text: &str, name: &str) -> bool {
    let tokens = Source::read(text).tokens;
    let is_name = |(at, token): (usize, &Token<'_>)| (*token == Token::Word(name)).then_some(at);
    let mut places = tokens.iter().enumerate().filter_map(is_name);
    places.any(|at| {
        let mut depth = 0;
        let behind = tokens[at + 1..].iter().position(|token| {
            match token {
                Token::Mark('(') => depth += 1,
                Token::Mark(')') => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        // Something in parentheses, and a body.
        let body = behind
            .filter(|&length| length > 0)
            .map(|length| at + length + 2);
        body.and_then(|body| tokens.get(body)) == Some(&Token::Mark('{'))
    })
}

/// The parameter that the macro `word` declares with the arguments that follow.
fn param(word: &str, rest: &[Token<'_>]) -> Option<ModuleParam> {
    // After the name: how many arguments stand before the type.
    let before = match word {
        "module_param" | "module_param_unsafe" | "module_param_array" => 0,
        "module_param_named" | "module_param_named_unsafe" | "module_param_array_named" => 1,
        "module_param_string" | "module_param_cb" => usize::MAX,
        _ => return None,
    };
    let [Token::Mark('('), Token::Word(name), arguments @ ..] = rest else {
        return None;
    };
    let mut commas = arguments.iter().enumerate();
    let comma = commas
        .by_ref()
        .filter(|(_, token)| matches!(token, Token::Mark(',')))
        .nth(before);
    let kind = match comma.map(|(at, _)| &arguments[at + 1..]) {
        Some([Token::Word(kind), ..]) => ParamType::of(kind),
        _ if word == "module_param_cb" => ParamType::Own,
        _ => ParamType::Other,
    };
    Some(ModuleParam {
        name: (*name).to_owned(),
        kind,
        meaning: String::new(),
    })
}

/// The name of the variable that is defined after `struct tcp_congestion_ops`, and what stands in
/// the braces behind it.
fn initialized<'t, 'a>(rest: &'t [Token<'a>]) -> Option<(&'a str, &'t [Token<'a>])> {
    let Token::Word(name) = *rest.first()? else {
        return None;
    };
    // Attributes may stand between name and `=`.
    let equals = rest
        .iter()
        .position(|token| !matches!(token, Token::Word(_)))?;
    let [Token::Mark('='), Token::Mark('{'), body @ ..] = &rest[equals..] else {
        return None;
    };
    let mut depth = 1;
    let end = body.iter().position(|token| {
        match token {
            Token::Mark('{') => depth += 1,
            Token::Mark('}') => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some((name, &body[..end]))
}

/// The texts in front of `tokens`, which C joins.
fn joined(tokens: &[Token<'_>]) -> String {
    let text = |token: &Token<'_>| match *token {
        Token::Text(text) => Some(text.to_owned()),
        _ => None,
    };
    tokens.iter().map_while(text).collect()
}

/// A part of a C text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    /// A name or a number.
    Word(&'a str),
    /// What stands between quotes.
    Text(&'a str),
    /// Any other character.
    Mark(char),
}

/// A C text in parts, without comments and directives.
#[derive(Default)]
struct Source<'a> {
    tokens: Vec<Token<'a>>,
    includes: Vec<String>,
    /// What macros without arguments stand for, if that is a text.
    texts: BTreeMap<&'a str, String>,
}

impl<'a> Source<'a> {
    fn read(text: &'a str) -> Source<'a> {
        let mut source = Source::default();
        let mut rest = text;
        let mut fresh = true; // nothing but space since the line began
        // Conditions that are open within an `#if 0`; 0: none.
        let mut skipped = 0_usize;
        while let Some(c) = rest.chars().next() {
            if c == '#' && fresh {
                let (directive, after) = rest.split_at(directive_end(rest));
                source.directive(directive, &mut skipped);
                rest = after;
                continue;
            }
            fresh = c == '\n' || fresh && c.is_whitespace();
            let (token, length) = token(rest, c);
            if skipped == 0 {
                source.tokens.extend(token);
            }
            rest = &rest[length..];
        }
        source
    }

    /// Takes in what the line `directive` says.
    fn directive(&mut self, directive: &'a str, skipped: &mut usize) {
        let body = directive[1..].trim_start();
        let end = body.find(|c: char| !c.is_ascii_alphabetic());
        let (word, argument) = body.split_at(end.unwrap_or(body.len()));
        let argument = argument.trim_start();
        match word {
            "if" | "ifdef" | "ifndef" if *skipped > 0 => *skipped += 1,
            "if" if argument.split_whitespace().next() == Some("0") => *skipped = 1,
            "endif" => *skipped = skipped.saturating_sub(1),
            "else" | "elif" if *skipped == 1 => *skipped = 0,
            _ if *skipped > 0 => {}
            "include" => {
                let quoted = argument
                    .strip_prefix('"')
                    .and_then(|rest| rest.split_once('"'));
                self.includes
                    .extend(quoted.map(|(file, _)| file.to_owned()));
            }
            "define" => {
                let end = argument
                    .find(|c: char| !is_word(c))
                    .unwrap_or(argument.len());
                let (name, value) = argument.split_at(end);
                let defined = Source::read(value).tokens;
                if let Some(Token::Text(_)) = defined.first() {
                    self.texts.insert(name, joined(&defined));
                }
            }
            _ => {}
        }
    }

    /// The text behind `.name =` in an initializer.
    fn name_in(&self, initializer: &[Token<'a>]) -> Option<String> {
        let mut depth = 0;
        for (at, token) in initializer.iter().enumerate() {
            match token {
                Token::Mark('{' | '(') => depth += 1,
                Token::Mark('}' | ')') => depth -= 1,
                _ => {}
            }
            let [
                Token::Mark('.'),
                Token::Word("name"),
                Token::Mark('='),
                value @ ..,
            ] = &initializer[at..]
            else {
                continue;
            };
            if depth == 0 {
                return match value.first()? {
                    Token::Text(_) => Some(joined(value)),
                    Token::Word(name) => self.texts.get(name).cloned(),
                    Token::Mark(_) => None,
                };
            }
        }
        None
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Where the directive in front of `text` ends: at a line's end that no backslash stands before and
/// that is in no comment.
fn directive_end(text: &str) -> usize {
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let rest = &text[at..];
        at += match bytes[at] {
            b'\n' => return at,
            b'\\' => 1 + usize::from(at + 1 < bytes.len()),
            b'/' if rest.starts_with("/*") => comment(rest),
            _ => 1,
        };
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    bytes.len()
}

/// The length of the comment in front of `text`.
fn comment(text: &str) -> usize {
    let end = match text.starts_with("//") {
        true => text.find('\n'),
        false => text[2..].find("*/").map(|at| at + 4),
    };
    end.unwrap_or(text.len())
}

/// The token in front of `text`, which begins with `c`, if there is one, and how long it is.
fn token(text: &str, c: char) -> (Option<Token<'_>>, usize) {
    if text.starts_with("//") || text.starts_with("/*") {
        return (None, comment(text));
    }
    if text.starts_with("\\\n") {
        return (None, 2); // a line that goes on
    }
    if c == '"' || c == '\'' {
        let mut escaped = false;
        let end = text[1..].find(|next: char| {
            let ends = !escaped && next == c;
            escaped = !escaped && next == '\\';
            ends
        });
        let end = end.map_or(text.len(), |at| at + 1);
        let token = (c == '"').then_some(Token::Text(&text[1..end]));
        return (token, (end + 1).min(text.len()));
    }
    if is_word(c) {
        let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
        return (Some(Token::Word(&text[..end])), end);
    }
    let token = (!c.is_whitespace()).then_some(Token::Mark(c));
    (token, c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<Option<String>> {
        Module::read(text).registered
    }

    #[test]
    fn what_is_registered_is_found_among_what_is_not() {
        let text = r#"
            /* static struct tcp_congestion_ops no = { .name = "no" }; */
            #define NAME "own" /* the name */ \
                "ed"
            static struct tcp_congestion_ops second;
            static struct tcp_congestion_ops first __read_mostly = {
                .init = (void *)"x", // .name = "wrong"
                .nested = { .name = "inner" },
                .name	= NAME,
                .owner = THIS_MODULE,
            };
            static struct tcp_congestion_ops second = { .name = "second" };
            #if 0
            tcp_register_congestion_control(&second);
            #endif
            static int f(struct tcp_congestion_ops *ops) { char c = '"'; return c; }
            return tcp_register_congestion_control(&first);
        "#;
        assert_eq!(names(text), [Some("owned".to_owned())]);
    }

    #[test]
    fn a_name_that_the_text_does_not_show_is_none() {
        let hidden = "struct tcp_congestion_ops a = OPS; x = tcp_register_congestion_control(&a);";
        assert_eq!(names(hidden), [None]);
        assert_eq!(names("int x; /* never closed"), []);
        assert_eq!(names("#define \\"), []);
        assert_eq!(names("\"open \\"), []);
    }

    #[test]
    fn parameters_have_names_types_and_meanings() {
        let text = r#"
            static int beta __read_mostly = 717;
            module_param(beta, int, 0644);
            MODULE_PARM_DESC(beta, "beta for "
                "decrease");
            module_param_named(fast, fast_convergence, bool, 0644);
            module_param_string(mode, mode, sizeof(mode), 0);
            module_param_cb(shift, &shift_ops, &shift, 0644);
        "#;
        let params = Module::read(text).params;
        let told: Vec<(&str, &str, &str)> = params
            .iter()
            .map(|param| (&*param.name, param.kind.name(), &*param.meaning))
            .collect();
        assert_eq!(
            told,
            [
                ("beta", "int", "beta for decrease"),
                ("fast", "bool", ""),
                ("mode", "text", ""),
                ("shift", "own type", ""),
            ]
        );
    }

    #[test]
    fn a_function_is_defined_where_it_has_a_body() {
        let text = "void a(int (*f)(int)); void b(int (*f)(int)) { a(f); if (c(1)) {} }";
        assert!(defines(text, "b"));
        assert!(!defines(text, "a") && !defines(text, "f") && !defines(text, "d"));
    }

    #[test]
    fn only_includes_by_quotes_are_told() {
        let text = "#include <net/tcp.h>\n # include \"own.h\"\n// #include \"no.h\"\n";
        assert_eq!(Module::read(text).includes, ["own.h"]);
    }

    proptest::proptest! {
        /// Whatever the text, reading it ends.
        #[test]
        fn any_text_is_read(text in "[a-z#\"'/*{}().=,&\\\\ \nµ]{0,60}") {
            let _ = Module::read(&text);
        }
    }
}
