//! Shell command line → the executables it runs, as the reference's checker names them.
//!
//! It is no shell parser: quoted text is removed, the rest is cut at operators, and the first word
//! of each piece counts. An executable that is not in the table does not count at all.

/// Executables that count, by the name they count under.
const NAMES: &[(&str, &[&str])] = &[
    ("python", &["python", "python2", "python3", "py"]),
    ("pip", &["pip", "pip3"]),
    ("sphinx", &["sphinx-build", "sphinx-quickstart"]),
    ("cat", &["cat", "less", "more"]),
    ("grep", &["grep", "egrep", "fgrep", "rg", "ag"]),
    ("awk", &["awk", "gawk"]),
    ("find", &["find", "locate"]),
    ("source", &["source", "."]),
    ("curl", &["curl", "wget"]),
    ("apt", &["apt", "apt-get"]),
];

/// Executables that count under their own name.
const PLAIN: &[&str] = &[
    "alias", "conda", "cp", "cut", "cython", "date", "diff", "export", "false", "git", "head",
    "ls", "make", "mkdir", "mv", "pylint", "pytest", "rm", "sed", "sort", "tail", "tee", "timeout",
    "touch", "tr", "true", "uniq", "unset", "wc", "which", "xargs", "yum",
];

/// Words that run the word after them.
const WRAPPERS: &[&str] = &["env", "time", "nice", "sudo", "exec", "command"];

/// The executables that `command` runs, in order, repeats included.
///
/// ```text
/// cd /src && CUDA_VISIBLE_DEVICES=0 /usr/bin/python3.11 -m pytest | tail -5   →  python, tail
/// ```
#[must_use]
pub fn executables(command: &str) -> Vec<&'static str> {
    let bare = without_quotes(command);
    stages(&bare).filter_map(executable).collect()
}

/// The name under which a stage's executable counts.
fn executable(stage: &str) -> Option<&'static str> {
    let word = stage
        .split(is_space)
        .filter(|word| !word.is_empty())
        .find(|word| !is_assignment(word) && !WRAPPERS.contains(word))?;
    let file = word.rsplit('/').next().unwrap_or(word).to_lowercase();
    name_of(without_version(&file))
}

fn name_of(file: &str) -> Option<&'static str> {
    if let Some(plain) = PLAIN.iter().find(|plain| **plain == file) {
        return Some(plain);
    }
    NAMES
        .iter()
        .find(|(_, spellings)| spellings.contains(&file))
        .map(|(name, _)| *name)
}

/// The command cut at `||`, `|`, `&&`, `;` and newlines; a single `&` does not cut.
fn stages(command: &str) -> impl Iterator<Item = &str> {
    // Cutting `||` twice leaves an empty piece, which has no executable.
    command
        .split("&&")
        .flat_map(|piece| piece.split(['|', ';', '\n']))
}

/// `command` with a space in place of every quoted text. A quote that is never closed stays.
fn without_quotes(command: &str) -> String {
    let mut bare = String::with_capacity(command.len());
    let mut rest = command;
    while let Some(at) = rest.find(['\'', '"', '`']) {
        bare.push_str(&rest[..at]);
        let quoted = &rest[at..];
        match quoted_length(quoted) {
            Some(length) => {
                bare.push(' ');
                rest = &quoted[length..];
            }
            None => {
                bare.push_str(&quoted[..1]);
                rest = &quoted[1..];
            }
        }
    }
    bare.push_str(rest);
    bare
}

/// Bytes of the quoted text at the start of `text`, both quotes included.
fn quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let inner = &text[1..];
    if quote != '"' {
        return Some(inner.find(quote)? + 2);
    }
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some(at + 2),
            // A backslash takes the next character with it, but never a newline.
            '\\' => {
                chars.next().filter(|(_, escaped)| *escaped != '\n')?;
            }
            _ => {}
        }
    }
    None
}

/// `NAME=` at the start of a word.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `file` without a version of one or two numbers: `python3.11.2` → `python3`.
fn without_version(file: &str) -> &str {
    let once = without_number(file);
    if once == file {
        return file;
    }
    without_number(once)
}

fn without_number(file: &str) -> &str {
    let digits = file.bytes().rev().take_while(u8::is_ascii_digit).count();
    match file[..file.len() - digits].strip_suffix('.') {
        Some(stem) if digits > 0 => stem,
        _ => file,
    }
}

/// White space as Python's `str.split` has it: Unicode's, and the four ASCII separators.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_wrappers_paths_and_versions() {
        let cases: &[(&str, &[&str])] = &[
            ("ls -la", &["ls"]),
            ("/usr/bin/python3 x.py", &["python"]),
            ("python3.11 x.py", &["python"]),
            ("python3.11.2 x.py", &["python"]),
            ("PYTHON x.py", &["python"]),
            ("A=1 _B2= env time sudo -u", &[]),
            ("A=1 sudo nice exec command rg x", &["grep"]),
            ("egrep x; fgrep x; ag x", &["grep", "grep", "grep"]),
            (". venv/bin/activate", &["source"]),
            ("cd /src", &[]),
            ("echo x | tee y", &["tee"]),
            ("1A=2 ls", &[]),
            ("pip3 install .", &["pip"]),
            ("", &[]),
            ("/", &[]),
        ];
        for (command, expected) in cases {
            assert_eq!(executables(command), *expected, "{command}");
        }
    }

    #[test]
    fn operators_cut_and_a_single_ampersand_does_not() {
        let command = "find . | xargs grep x || true && git diff; sed -n 1p a\nwc a";
        let expected = ["find", "xargs", "true", "git", "sed", "wc"];
        assert_eq!(executables(command), expected);
        assert_eq!(executables("ls & cat a"), ["ls"]);
        assert_eq!(executables("ls &&& cat a"), ["ls"]);
        assert_eq!(executables("ls |& cat a"), ["ls"]);
        assert_eq!(executables("ls ||| cat a"), ["ls", "cat"]);
    }

    #[test]
    fn quoted_text_is_removed() {
        assert_eq!(executables("grep 'a|b; ls' x | wc"), ["grep", "wc"]);
        assert_eq!(executables(r#"grep "a\"| ls" x"#), ["grep"]);
        assert_eq!(executables("cat `ls; rm x`"), ["cat"]);
        // A quoted executable is gone, and its arguments are what is left.
        assert_eq!(executables("'python' cat"), ["cat"]);
        assert_eq!(executables("gr'e'p cat"), Vec::<&str>::new());
    }

    #[test]
    fn a_quote_that_never_closes_stays() {
        assert_eq!(executables("ls | grep it's | wc"), ["ls", "grep", "wc"]);
        // A backslash before a newline ends the search for the closing quote.
        assert_eq!(executables("cat \"a\\\n| ls \" | wc"), ["cat", "ls", "wc"]);
        assert_eq!(executables("cat \"a\\"), ["cat"]);
    }

    #[test]
    fn white_space_is_pythons() {
        assert_eq!(executables("\u{a0}ls\u{1c}x"), ["ls"]);
        assert_eq!(executables("ls\u{85}cat"), ["ls"]);
    }

    #[test]
    fn only_two_version_numbers_are_a_version() {
        assert_eq!(without_version("a.1.2.3"), "a.1");
        assert_eq!(without_version("a."), "a.");
        assert_eq!(without_version(".1"), "");
        assert_eq!(without_version("a1"), "a1");
    }

    #[test]
    fn no_spelling_counts_twice() {
        let spellings: Vec<&str> = NAMES.iter().flat_map(|(_, s)| s.iter().copied()).collect();
        let all: Vec<&str> = spellings.iter().chain(PLAIN).copied().collect();
        let mut unique = all.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), all.len());
        assert_eq!(all.len(), 58);
    }
}
