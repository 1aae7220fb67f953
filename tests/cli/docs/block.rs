//! Commands in a page, and what the page says that they print.
//!
//! A fence ```` ```console tested ```` is run: lines that begin with `$ ` are commands (a `\` at the end continues
//! one), `# exit N` at a command's end is its exit code, and the other lines must be in its output, in this order. `…`
//! stands for any text within a line; a line that is only `…`, for any lines. Words after `tested` name data that a
//! block needs.

/// The mark of blocks that are run.
const MARK: &str = "```console tested";

/// Commands that stand together.
#[derive(Debug, Default)]
pub struct Block {
    /// Data that it needs.
    pub needs: Vec<String>,
    pub steps: Vec<Step>,
}

/// A command.
#[derive(Debug)]
pub struct Step {
    /// Line of the page.
    pub line: usize,
    /// For `sh`.
    pub command: String,
    pub exit: i32,
    /// Lines that it prints.
    pub prints: Vec<String>,
}

/// The blocks of a page that are run.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut continued = false;
    for (line, text) in (1..).zip(page.lines()) {
        let Some(block) = &mut open else {
            open = text.strip_prefix(MARK).map(|words| Block {
                needs: words.split_whitespace().map(str::to_owned).collect(),
                steps: Vec::new(),
            });
            continue;
        };
        if text == "```" {
            blocks.extend(open.take());
        } else if let Some(command) = text.strip_prefix("$ ") {
            block.steps.push(Step {
                line,
                command: String::new(),
                exit: 0,
                prints: Vec::new(),
            });
            continued = block.steps.last_mut().is_some_and(|s| s.add(command));
        } else if let Some(step) = block.steps.last_mut() {
            if continued {
                continued = step.add(text);
            } else {
                step.prints.push(text.trim_end().to_owned());
            }
        }
    }
    assert!(open.is_none(), "a block that does not end");
    blocks
}

impl Step {
    /// Adds a line of the command; whether another one follows.
    fn add(&mut self, text: &str) -> bool {
        if let Some(text) = text.strip_suffix('\\') {
            self.command.push_str(text);
            return true;
        }
        let (text, exit) = text.rsplit_once("# exit ").unwrap_or((text, "0"));
        self.exit = exit.trim().parse().expect("an exit code");
        self.command.push_str(text.trim());
        false
    }

    /// The first line of the page that is not in this output.
    pub fn missing(&self, output: &str) -> Option<&str> {
        let mut lines = output.lines();
        let expected = self.prints.iter().filter(|p| !p.is_empty() && *p != "…");
        expected
            .map(String::as_str)
            .find(|pattern| !lines.any(|line| matches(pattern, line.trim_end())))
    }
}

/// Whether a line is what the pattern says, `…` being any text.
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn patterns_match_as_written() {
    for (pattern, line, expected) in [
        ("a b", "a b", true),
        ("a b", "a bc", false),
        ("a …", "a bc", true),
        ("… c", "a b c", true),
        ("a…b…c", "a1b2c", true),
        ("a…b…c", "a1c2b", false),
        ("…", "", true),
    ] {
        assert_eq!(matches(pattern, line), expected, "{pattern:?} {line:?}");
    }
}

#[test]
fn a_page_is_read_as_its_reader_would() {
    let page =
        "```console tested bfcl\n$ a \\\n  b # exit 1\nx …\n\n$ c\n```\n```console\n$ d\n```\n";
    let blocks = blocks(page);
    assert_eq!(
        (blocks.len(), blocks[0].needs.as_slice()),
        (1, &["bfcl".to_owned()][..])
    );
    let [first, second] = &blocks[0].steps[..] else {
        panic!("two commands, found {blocks:?}");
    };
    assert_eq!(
        (first.command.as_str(), first.exit, first.line),
        ("a b", 1, 2)
    );
    assert_eq!(first.missing("y\nx 1\n"), None);
    assert_eq!(first.missing("y\n"), Some("x …"));
    assert_eq!((second.command.as_str(), second.exit), ("c", 0));
}
