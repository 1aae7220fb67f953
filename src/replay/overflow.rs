//! `--overflow drop-oldest`: which exchanges of a prompt that does not fit are left out.
//!
//! An exchange is a recorded reply with its calls and the results of all of them. The oldest go first. What is never
//! dropped: the system prompt, any message of the user (with the reply before it), half an exchange, and the newest
//! exchange, which the turn is about.

use crate::conversation::{Conversation, TurnInput};

/// What is left of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Indices of the turns after the first whose additions stay, ascending.
    pub turns: Vec<usize>,
    /// Messages left out.
    pub dropped_messages: usize,
}

/// Chooses what stays, so that the prompt of the turn at `index` has fewer than `context` tokens: the least is
/// dropped. `added[i - 1]`: tokens that the turn at `i` added; `opening`: tokens of the first prompt. `None` where it
/// cannot be made to fit.
pub fn keep(
    conversation: &Conversation,
    index: usize,
    added: &[usize],
    opening: usize,
    context: usize,
) -> Option<Kept> {
    let whole = opening + added.iter().take(index).sum::<usize>();
    let mut excess = (whole + 1).saturating_sub(context);
    let mut kept = Kept {
        turns: Vec::with_capacity(index),
        dropped_messages: 0,
    };
    for i in 1..=index {
        let input = &conversation.turns[i].input;
        let droppable = i < index && matches!(input, TurnInput::Tool(_));
        if droppable && excess > 0 {
            excess = excess.saturating_sub(added[i - 1]);
            kept.dropped_messages += 1 + input.messages();
        } else {
            kept.turns.push(i);
        }
    }
    (excess == 0).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{SAMPLE, SAMPLE_NAME, parse};

    fn kept(turns: &[usize], dropped_messages: usize) -> Option<Kept> {
        Some(Kept {
            turns: turns.to_vec(),
            dropped_messages,
        })
    }

    /// The sample's first conversation: five turns, the first the user's, one of the others with two results.
    #[test]
    fn t1_11_whole_oldest_exchanges_go_and_the_newest_stays() {
        let data = parse(SAMPLE, SAMPLE_NAME).expect("the sample is valid");
        let c = &data.conversations[0];
        let messages = |i: usize| 1 + c.turns[i].input.messages();
        let added = [100, 50, 70, 30];
        // 200 + 250 = 450 tokens.
        assert_eq!(
            keep(c, 4, &added, 200, 451),
            kept(&[1, 2, 3, 4], 0),
            "fits: nothing is dropped"
        );
        assert_eq!(
            keep(c, 4, &added, 200, 450),
            kept(&[2, 3, 4], messages(1)),
            "one token too many costs an exchange"
        );
        assert_eq!(keep(c, 4, &added, 200, 351), kept(&[2, 3, 4], messages(1)));
        assert_eq!(
            keep(c, 4, &added, 200, 350),
            kept(&[3, 4], messages(1) + messages(2))
        );
        assert_eq!(
            keep(c, 4, &added, 200, 231),
            kept(&[4], messages(1) + messages(2) + messages(3))
        );
        assert_eq!(
            keep(c, 4, &added, 200, 230),
            None,
            "the newest exchange is never dropped"
        );
        assert_eq!(
            keep(c, 0, &added, 200, 200),
            None,
            "the task is never dropped"
        );
    }
}
