//! The top-level arguments of all calls, read once for a body. All that is known of a call's arguments comes from here.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::read::view::{ArgsForm, PartId, PartKind, View};
use secateur_json::strings::count_chars;
use secateur_json::{Cursor, JsonError, JsonStr, Kind, Span, compact_chars};

/// The top-level arguments of all calls. Offsets count in the arguments as [`View::args`] gives them.
#[derive(Debug)]
pub(crate) struct CallArgs {
    /// Those of all calls, one call after the other.
    args: Vec<Arg>,
    /// For each part: where its arguments begin and end. Nothing for parts that have none, and for those that are no
    /// object or are nested deeper than [`MAX_DEPTH`].
    of: Vec<Option<(u32, u32)>>,
}

/// A top-level argument.
#[derive(Clone, Copy, Debug)]
struct Arg {
    name: JsonStr,
    value: Value,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Text(JsonStr),
    Other(Span),
}

/// Deeper than this and arguments are not kept here.
const MAX_DEPTH: usize = 128;

impl CallArgs {
    /// Those of this view, read when they are first asked for.
    pub(crate) fn once<'c>(read: &'c OnceCell<Self>, view: &View<'_>) -> &'c Self {
        read.get_or_init(|| Self::of(view))
    }

    fn of(view: &View<'_>) -> Self {
        let mut all = Self {
            args: Vec::new(),
            of: vec![None; view.parts().len()],
        };
        for id in view.part_ids() {
            if view.part(id).kind == PartKind::Call {
                all.of[id.index()] = all.read(&view.args(id));
            }
        }
        all
    }

    /// Those of one call, whose part is the first.
    #[cfg(test)]
    pub(crate) fn of_one(args: &str) -> Self {
        let mut all = Self {
            args: Vec::new(),
            of: vec![None],
        };
        all.of[0] = all.read(args);
        all
    }

    fn read(&mut self, args: &str) -> Option<(u32, u32)> {
        let mut cursor = Cursor::over(args, MAX_DEPTH);
        if cursor.peek() != Ok(Kind::Object) {
            return None;
        }
        let start = self.args.len();
        let read = cursor.object(|cursor, name| {
            let value = if cursor.peek()? == Kind::String {
                Value::Text(cursor.string()?)
            } else {
                Value::Other(cursor.skip()?)
            };
            self.args.push(Arg { name, value });
            Ok::<_, JsonError>(())
        });
        if read.is_err() {
            self.args.truncate(start);
            return None;
        }
        Some((index(start), index(self.args.len())))
    }

    fn of_call(&self, call: PartId) -> Option<&[Arg]> {
        let (start, end) = self.of[call.index()]?;
        self.args.get(start as usize..end as usize)
    }

    /// The texts among a call's arguments that have one of these names, in their order; `None` if the call is not
    /// here.
    pub(crate) fn texts(
        &self,
        args: &str,
        call: PartId,
        names: &[&str],
    ) -> Option<impl Iterator<Item = JsonStr>> {
        let all = self.of_call(call)?.iter();
        Some(all.filter_map(|arg| {
            let Value::Text(text) = arg.value else {
                return None;
            };
            names.contains(&&*arg.name.decode(args)).then_some(text)
        }))
    }

    /// The text under the first of these names that is there, for several lists of names.
    pub(crate) fn first_texts<'a, const LISTS: usize>(
        &self,
        view: &View<'a>,
        call: PartId,
        lists: [&[&str]; LISTS],
    ) -> [Option<Cow<'a, str>>; LISTS] {
        let Some(all) = self.of_call(call) else {
            return [const { None }; LISTS];
        };
        let args = view.args(call);
        let mut found: [Option<(usize, JsonStr)>; LISTS] = [None; LISTS];
        for arg in all {
            let Value::Text(text) = arg.value else {
                continue;
            };
            let name = arg.name.decode(&args);
            for (found, names) in found.iter_mut().zip(lists) {
                if let Some(rank) = names.iter().position(|other| *other == name)
                    && found.is_none_or(|(best, _)| rank <= best)
                {
                    *found = Some((rank, text));
                }
            }
        }
        found.map(|found| {
            let (_, text) = found?;
            Some(match &args {
                Cow::Borrowed(args) => text.decode(args),
                Cow::Owned(args) => text.decode(args).into_owned().into(),
            })
        })
    }

    /// The strings of an argument that is a list, under any of these names.
    pub(crate) fn list(
        &self,
        view: &View<'_>,
        call: PartId,
        names: &[&str],
    ) -> Option<Vec<String>> {
        let args = view.args(call);
        let is_list = |arg: &&Arg| {
            let Value::Other(value) = arg.value else {
                return false;
            };
            value.of(&args).starts_with('[') && names.contains(&&*arg.name.decode(&args))
        };
        let Value::Other(list) = self.of_call(call)?.iter().rfind(is_list)?.value else {
            return None;
        };
        let list = list.of(&args);
        let mut texts = Vec::new();
        let read = Cursor::over(list, MAX_DEPTH).array(|cursor, _| {
            let text = cursor.string_or_skip()?;
            texts.extend(text.map(|text| text.decode(list).into_owned()));
            Ok::<_, JsonError>(())
        });
        read.is_ok().then_some(texts)
    }

    /// The whole number under the first of these names that has one.
    pub(crate) fn number(&self, view: &View<'_>, call: PartId, names: &[&str]) -> Option<u64> {
        let args = view.args(call);
        let all = self.of_call(call)?;
        names.iter().find_map(|name| {
            let arg = all.iter().find(|arg| arg.name.decode(&args) == *name)?;
            match arg.value {
                Value::Text(text) => text.decode(&args).parse().ok(),
                Value::Other(span) => span.of(&args).parse().ok(),
            }
        })
    }

    /// Characters of a call's arguments as a compact JSON writer spells them; free text counts as it is.
    pub(crate) fn compact_chars(&self, view: &View<'_>, call: PartId) -> usize {
        // Around arguments that are a text there may be others.
        let is_value = view.part(call).args == ArgsForm::Value;
        let Some(all) = self.of_call(call).filter(|_| is_value) else {
            return whole_compact_chars(&view.args(call));
        };
        let args = view.args(call);
        let text = |text: JsonStr| match text.compact_chars() {
            Some(chars) => chars,
            None => compact_chars(text.quoted().of(&args)),
        };
        let braces_and_commas = 2 + all.len().saturating_sub(1);
        let chars = |arg: &Arg| {
            let value = match arg.value {
                Value::Text(value) => text(value),
                Value::Other(span) => compact_chars(span.of(&args)),
            };
            text(arg.name) + 1 + value
        };
        braces_and_commas + all.iter().map(chars).sum::<usize>()
    }
}

/// Characters of arguments as a compact JSON writer spells them, found in one walk through all of them.
fn whole_compact_chars(args: &str) -> usize {
    if args.starts_with(['{', '[', ' ', '\n']) {
        compact_chars(args)
    } else {
        count_chars(args.as_bytes())
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::dialect::Dialect;
    use crate::read::wire;
    use secateur_json::Limits;

    /// Arguments; the path by the first name that is there; all paths; the command where it is a list.
    type Expected<'t> = (
        &'t str,
        Option<&'t str>,
        &'t [&'t str],
        Option<Vec<&'t str>>,
    );

    #[test]
    fn arguments_are_found_by_name_and_the_last_of_equal_names_counts() {
        let deep = format!(
            r#"{{"path":"a","x":{}1{}}}"#,
            "[".repeat(70),
            "]".repeat(70)
        );
        let none: [&str; 0] = [];
        let calls: [Expected<'_>; 9] = [
            ("{}", None, &none, None),
            (
                r#"{ "file_path" : "caf\u00e9\n" , "command": ["ls", {"a": 1e3}, "-l"] }"#,
                Some("café\n"),
                &["café\n"],
                Some(vec!["ls", "-l"]),
            ),
            (
                r#"{"path":"a","file_path":"b","path":"c","p\u0061th":"d"}"#,
                Some("b"),
                &["a", "b", "c", "d"],
                None,
            ),
            (
                r#"{"path":"a","command":["x"],"path":"c","command":[],"command":1}"#,
                Some("c"),
                &["a", "c"],
                Some(vec![]),
            ),
            (
                r#"{"command":"x\/y\r","path":7,"é":"é\t\"\\"}"#,
                None,
                &none,
                None,
            ),
            ("[1, 2]", None, &none, None),
            ("\"text\"", None, &none, None),
            (r#"{"path":7.50}"#, None, &none, None),
            (&deep, Some("a"), &["a"], None),
        ];
        let block = |(id, (input, ..)): (usize, &(&str, _, _, _))| {
            format!(r#"{{"type":"tool_use","id":"{id}","name":"Edit","input":{input}}}"#)
        };
        let blocks: Vec<String> = calls.iter().enumerate().map(block).collect();
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{}]}}]}}"#,
            blocks.join(",")
        );
        let limits = Limits::default();
        let view = wire::read(body.as_bytes(), Dialect::AnthropicMessages, &limits).unwrap();
        let args = CallArgs::of(&view);
        let is_call = |id: &PartId| view.part(*id).kind == PartKind::Call;
        for (call, (input, first, all, list)) in view.part_ids().filter(is_call).zip(calls) {
            let names: &[&str] = &["file_path", "path"];
            let [found] = args.first_texts(&view, call, [names]);
            assert_eq!(found.as_deref(), first, "{input}");
            let text = view.args(call);
            let texts = args.texts(&text, call, names).into_iter().flatten();
            let texts: Vec<_> = texts.map(|one| one.decode(&text).into_owned()).collect();
            assert_eq!(texts, all, "{input}");
            let found = args.list(&view, call, &["command"]);
            assert_eq!(
                found,
                list.map(|list| list.into_iter().map(str::to_owned).collect())
            );
            let chars = args.compact_chars(&view, call);
            assert_eq!(chars, whole_compact_chars(&text), "{input}");
        }
    }
}
