//! `ast.unparse` of f-strings, as CPython 3.12.1 does it: the text is put together again, with
//! quotes that occur nowhere in its constant parts.

use ruff_python_ast::{
    ConversionFlag, Expr, FStringPart, FStringValue, InterpolatedElement, InterpolatedStringElement,
};
use ruff_python_parser::parse_expression;
use ruff_text_size::Ranged;

use super::literal::{part_points, slice, string_points};
use super::unparse::{Failure, Outcome, Printer};
use super::{precedence, repr, surrogate};

/// The ways to quote, in Python's order of preference.
const QUOTES: [&str; 4] = ["'", "\"", "\"\"\"", "'''"];

/// A piece of an f-string after neighbours were joined.
enum Piece {
    /// Literal text with braces doubled.
    Constant(Vec<u32>),
    /// A replacement field, printed.
    Field(String),
}

/// Prints a whole f-string.
pub(super) fn print(printer: &mut Printer<'_>, value: &FStringValue) -> Outcome {
    let mut pieces = Vec::new();
    for part in value {
        match part {
            FStringPart::Literal(text) => {
                push_constant(&mut pieces, &part_points(text, printer.source))
            }
            FStringPart::FString(f) => {
                let is_raw = f.flags.prefix().is_raw();
                for element in &f.elements {
                    push_element(printer, &mut pieces, element, is_raw)?;
                }
            }
        }
    }
    let text = quoted(&pieces).unwrap_or_else(|| quoted_by_repr(&pieces));
    printer.out.push('f');
    printer.out.push_str(&text);
    Ok(())
}

fn push_element(
    printer: &mut Printer<'_>,
    pieces: &mut Vec<Piece>,
    element: &InterpolatedStringElement,
    is_raw: bool,
) -> Outcome {
    match element {
        InterpolatedStringElement::Literal(text) => {
            let source = slice(printer.source, text.range());
            push_constant(pieces, &surrogate::code_points(&text.value, source, is_raw));
        }
        InterpolatedStringElement::Interpolation(field) => {
            if let Some(text) = &field.debug_text {
                push_constant(pieces, &debug_text(text.as_str(), is_raw)?);
            }
            pieces.push(Piece::Field(print_field(printer, field, is_raw)?));
        }
    }
    Ok(())
}

/// The source that `{x=}` shows. CPython 3.12 strips comments from it without an eye for strings, and
/// decodes its escapes like those of the literal around it.
fn debug_text(text: &str, is_raw: bool) -> Result<Vec<u32>, Failure> {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.split_once('#') {
            Some((code, _)) => {
                shown.push_str(code);
                shown.extend(line.ends_with('\n').then_some('\n'));
            }
            None => shown.push_str(line),
        }
    }
    if is_raw || !shown.contains('\\') {
        return Ok(shown.chars().map(u32::from).collect());
    }
    decode_escapes(&shown).ok_or(Failure::Syntax)
}

/// The text as the body of a string literal: the parser reads it in quotes, its own quotes escaped.
fn decode_escapes(text: &str) -> Option<Vec<u32>> {
    let mut source = String::from("\"\"\"");
    let mut escaped = false;
    for c in text.chars() {
        if c == '"' && !escaped {
            source.push('\\');
        }
        source.push(c);
        escaped = c == '\\' && !escaped;
    }
    source.push_str("\"\"\"");
    match &*parse_expression(&source).ok()?.into_syntax().body {
        Expr::StringLiteral(literal) => Some(string_points(literal, &source)),
        _ => None,
    }
}

/// Adds literal text to the piece before it, if that is literal too.
fn push_constant(pieces: &mut Vec<Piece>, points: &[u32]) {
    if points.is_empty() {
        return;
    }
    if !matches!(pieces.last(), Some(Piece::Constant(_))) {
        pieces.push(Piece::Constant(Vec::new()));
    }
    let Some(Piece::Constant(text)) = pieces.last_mut() else {
        return;
    };
    for &point in points {
        text.push(point);
        if is_brace(point) {
            text.push(point);
        }
    }
}

fn is_brace(point: u32) -> bool {
    point == u32::from(b'{') || point == u32::from(b'}')
}

/// `{expression!conversion:format}`.
fn print_field(
    printer: &mut Printer<'_>,
    field: &InterpolatedElement,
    is_raw: bool,
) -> Result<String, Failure> {
    // Python starts a fresh printer per field, a few calls deep.
    const FRAMES: usize = 6;
    let mut inner = Printer {
        out: String::new(),
        source: printer.source,
        frames: printer.frames,
    };
    inner.node(&field.expression, precedence::OR, FRAMES)?;
    let expression = inner.out;
    let mut out = String::from("{");
    if expression.starts_with('{') {
        out.push(' ');
    }
    out.push_str(&expression);
    let conversion = match field.conversion.to_byte() {
        // `{x=}` alone means `repr`.
        None if field.debug_text.is_some() && field.format_spec.is_none() => {
            Some(ConversionFlag::Repr as u8)
        }
        conversion => conversion,
    };
    if let Some(conversion) = conversion {
        out.push('!');
        out.push(char::from(conversion));
    }
    if let Some(format) = &field.format_spec {
        out.push(':');
        for element in &format.elements {
            print_format(printer, &mut out, element, is_raw)?;
        }
    }
    out.push('}');
    Ok(out)
}

/// A part of a format specification, its newlines escaped.
fn print_format(
    printer: &mut Printer<'_>,
    out: &mut String,
    element: &InterpolatedStringElement,
    is_raw: bool,
) -> Outcome {
    match element {
        InterpolatedStringElement::Literal(text) => {
            let escaped = text
                .value
                .replace('{', "{{")
                .replace('}', "}}")
                .replace('\n', "\\n");
            out.push_str(&escaped);
        }
        InterpolatedStringElement::Interpolation(field) => {
            if let Some(text) = &field.debug_text {
                out.push_str(text.as_str());
            }
            out.push_str(&print_field(printer, field, is_raw)?);
        }
    }
    Ok(())
}

/// The f-string in quotes that its constants do not hold; `None` when no such quotes are left.
fn quoted(pieces: &[Piece]) -> Option<String> {
    let mut quotes = QUOTES.to_vec();
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Field(field) => {
                if field.contains('\n') {
                    quotes.retain(|quote| quote.len() == 3);
                }
                text.push_str(field);
            }
            Piece::Constant(points) => {
                let (escaped, possible) = escape(points, &quotes);
                if !possible.iter().any(|quote| quotes.contains(quote)) {
                    return None;
                }
                quotes = possible;
                text.push_str(&escaped);
            }
        }
    }
    let quote = quotes.first()?;
    Some(format!("{quote}{text}{quote}"))
}

/// A constant with what is not printable escaped, and the quotes that may stand around it.
fn escape<'q>(points: &[u32], quotes: &[&'q str]) -> (String, Vec<&'q str>) {
    let mut escaped = String::new();
    for &point in points {
        repr::push_escaped(&mut escaped, point);
    }
    let mut possible: Vec<&str> = quotes
        .iter()
        .copied()
        .filter(|quote| !escaped.contains(quote))
        .collect();
    if possible.is_empty() {
        let repr = repr::string(points);
        let quote = quotes
            .iter()
            .copied()
            .find(|quote| repr.starts_with(&quote[..1]));
        let inside = repr[1..repr.len() - 1].to_owned();
        return (inside, quote.into_iter().collect());
    }
    if let Some(last) = escaped.chars().next_back() {
        possible.sort_by_key(|quote| quote.starts_with(last));
        if possible[0].starts_with(last) {
            let at = escaped.len() - last.len_utf8();
            escaped.insert(at, '\\');
        }
    }
    (escaped, possible)
}

/// The way out when no quotes fit: everything as `repr` prints it, in triple quotes.
fn quoted_by_repr(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Field(field) => text.push_str(field),
            Piece::Constant(points) => {
                // A double quote in front makes `repr` choose single quotes.
                let with_quote: Vec<u32> = std::iter::once(u32::from(b'"'))
                    .chain(points.iter().copied())
                    .collect();
                let repr = repr::string(&with_quote);
                text.push_str(&repr[2..repr.len() - 1]);
            }
        }
    }
    format!("'''{text}'''")
}
