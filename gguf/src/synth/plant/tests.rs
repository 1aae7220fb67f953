use super::*;
use crate::synth::random::Stream;
use crate::synth::{Shape, Spec};

#[test]
fn the_tangent_agrees_with_differences() {
    let mut stream = Stream::new(3, "test", 0);
    let mut matrix = |rows: usize, cols: usize| {
        let scale = 2.0 / (cols as f32).sqrt();
        let rows: Vec<_> = (0..rows).map(|_| stream.normals(cols, scale)).collect();
        Matrix::from_rows(cols, rows.into_iter())
    };
    let head = Head {
        signs: vec![1.0; 16],
        gate: matrix(32, 16),
        up: matrix(32, 16),
        down: matrix(16, 32),
    };
    let [x, v, w] = [0, 1, 2].map(|row| Stream::new(4, "test", row).normals(16, 1.0));
    let tangent = Tangent::at(&head, &x);
    let mut beside = x.clone();
    add_scaled(&mut beside, 1e-3, &v);
    let moved = Tangent::at(&head, &beside).value;
    let (forward, backward) = (tangent.forward(&v), tangent.backward(&w));
    for ((after, before), slope) in moved.iter().zip(&tangent.value).zip(&forward) {
        let difference = (after - before) / 1e-3;
        assert!((difference - slope).abs() < 0.05, "{difference} {slope}");
    }
    // ⟨w, J v⟩ = ⟨Jᵀ w, v⟩
    assert!((dot(&w, &forward) - dot(&backward, &v)).abs() < 1e-3);
}

/// The model without context: what each token looks like, and where the head looks after it.
struct Map {
    spec: Spec,
    head: Head,
    embeddings: Vec<Vec<f32>>,
}

impl Map {
    fn new() -> Self {
        let spec = Spec::builtin(Shape::Tiny).unwrap();
        let weights = Weights::random(spec.seed);
        let planted = embeddings(&spec.vocab, &weights).unwrap();
        let embeddings = (0..spec.vocab.len() as u32)
            .map(|id| match planted.get(&id.into()) {
                Some(planted) => planted.clone(),
                None => weights.embedding(id),
            })
            .collect();
        Self {
            head: Head::new(&weights),
            embeddings,
            spec,
        }
    }

    /// The three likeliest tokens after `token`, best first.
    fn likeliest(&self, token: &str) -> Vec<&str> {
        let id = self.spec.vocab.id(token).unwrap();
        let seen = self.head.after(&self.embeddings[id as usize]);
        let logits = self.embeddings.iter().map(|e| dot(&seen, e));
        let mut ranked: Vec<(f32, usize)> = logits.zip(0..).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let best = ranked.iter().take(3);
        best.map(|&(_, id)| self.spec.vocab.tokens()[id].as_str())
            .collect()
    }
}

#[test]
fn greedy_decoding_walks_through_the_call() {
    let map = Map::new();
    let mut token = "Ċ";
    for next in ["ls", "Ġ-", "la", "ĊĊĊ", "</", "parameter", ">", "Ċ", "ls"] {
        token = map.likeliest(token)[0];
        assert_eq!(token, next);
    }
    for (token, next) in [
        ("ĊĊ", "<tool_call>"),
        ("</tool_call>", "<|im_end|>"),
        ("<tool_call>", "<|im_end|>"),
    ] {
        assert_eq!(map.likeliest(token)[0], next);
    }
    // Where the grammar refuses the value, closing the call beats going on.
    assert_eq!(map.likeliest("Ċ"), ["ls", "</tool_call>", "</"]);
}
