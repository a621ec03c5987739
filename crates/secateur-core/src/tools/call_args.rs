//! The top-level arguments of all calls, read once for a body: what a call is about, what it writes and what it costs
//! are told from them.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::read::view::{ArgsForm, PartId, PartKind, View};
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
const MAX_DEPTH: usize = 64;

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

    /// The text under the first of these names that is there, for several lists of names: what [`View::first_arg`]
    /// tells.
    pub(crate) fn first_texts<'a, const LISTS: usize>(
        &self,
        view: &View<'a>,
        call: PartId,
        lists: [&[&str]; LISTS],
    ) -> [Option<Cow<'a, str>>; LISTS] {
        let Some(all) = self.of_call(call) else {
            return view.first_args(call, lists).map(|text| Some(text?.into()));
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

    /// Characters of a call's arguments as a compact writer spells them: what [`View::compact_args_chars`] tells.
    pub(crate) fn compact_chars(&self, view: &View<'_>, call: PartId) -> usize {
        // Around arguments that are a text there may be others.
        let is_value = view.part(call).args == ArgsForm::Value;
        let Some(all) = self.of_call(call).filter(|_| is_value) else {
            return view.compact_args_chars(call);
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

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::dialect::Dialect;
    use crate::read::wire;
    use secateur_json::Limits;

    #[test]
    fn tells_what_reading_each_time_tells() {
        let deep = format!(
            r#"{{"path":"a","x":{}1{}}}"#,
            "[".repeat(70),
            "]".repeat(70)
        );
        let calls = [
            "{}",
            r#"{ "file_path" : "caf\u00e9\n" , "command": ["ls", {"a": 1e3}] }"#,
            r#"{"path":"a","file_path":"b","path":"c","p\u0061th":"d"}"#,
            r#"{"command":"x\/y\r","path":7,"é":"é\t\"\\"}"#,
            "[1, 2]",
            "\"text\"",
            &deep,
        ];
        let block = |(id, input): (usize, &&str)| {
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
        let lists: [&[&str]; 2] = [&["command"], &["file_path", "path"]];
        let is_call = |id: &PartId| view.part(*id).kind == PartKind::Call;
        let mut found = 0;
        for call in view.part_ids().filter(is_call) {
            let told = args.first_texts(&view, call, lists);
            let read = view.first_args(call, lists);
            assert_eq!(told.map(|text| text.map(Cow::into_owned)), read);
            let chars = args.compact_chars(&view, call);
            assert_eq!(chars, view.compact_args_chars(call));
            let text = view.args(call);
            if let Some(texts) = args.texts(&text, call, lists[1]) {
                let texts: Vec<_> = texts.map(|one| one.decode(&text).into_owned()).collect();
                assert_eq!(texts, view.string_args(call, lists[1]));
                found += texts.len();
            }
        }
        assert_eq!(found, 5);
    }
}
