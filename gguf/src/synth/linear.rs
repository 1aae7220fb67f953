//! The little linear algebra that planting needs.

/// A dense matrix, row by row.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    cols: usize,
    data: Vec<f32>,
}

impl Matrix {
    /// A matrix from its rows, all of length `cols`.
    pub(super) fn from_rows(cols: usize, rows: impl Iterator<Item = Vec<f32>>) -> Self {
        let data: Vec<f32> = rows.flatten().collect();
        debug_assert_eq!(data.len() % cols, 0);
        Self { cols, data }
    }

    /// M·x.
    pub(super) fn times(&self, x: &[f32]) -> Vec<f32> {
        self.data
            .chunks_exact(self.cols)
            .map(|row| dot(row, x))
            .collect()
    }

    /// Mᵀ·y.
    pub(super) fn transposed_times(&self, y: &[f32]) -> Vec<f32> {
        let mut x = vec![0.0; self.cols];
        for (row, &scale) in self.data.chunks_exact(self.cols).zip(y) {
            add_scaled(&mut x, scale, row);
        }
        x
    }
}

/// a·b, in eight partial sums: vectorizes, and rounds the same on every machine.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    for (x, y) in a8.iter().zip(b8) {
        for i in 0..8 {
            sums[i] += x[i] * y[i];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

/// a += scale · b.
pub(super) fn add_scaled(a: &mut [f32], scale: f32, b: &[f32]) {
    for (x, y) in a.iter_mut().zip(b) {
        *x += scale * y;
    }
}

/// v scaled to length √n, so that its root mean square is 1: what RMS norm does.
pub(super) fn unit(v: &[f32]) -> Vec<f32> {
    let scale = rms_scale(v);
    v.iter().map(|x| x * scale).collect()
}

/// The factor that `unit` applies.
pub(super) fn rms_scale(v: &[f32]) -> f32 {
    (v.len() as f32 / dot(v, v).max(f32::MIN_POSITIVE)).sqrt()
}

/// Cosine of the angle between two vectors.
pub(super) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f32::MIN_POSITIVE)
}

/// Solve A·x = b for a symmetric positive definite A given as a function (conjugate gradients).
///
/// Stops when the residual is a hundredth of `b`: each step of an outer iteration needs a direction,
/// not digits. At the latest after `b.len()` steps.
pub(super) fn solve(apply: impl Fn(&[f32]) -> Vec<f32>, b: &[f32]) -> Vec<f32> {
    let mut x = vec![0.0; b.len()];
    let mut residual = b.to_vec();
    let mut direction = b.to_vec();
    let mut error = dot(b, b);
    let goal = error * 1e-4;
    for _ in 0..b.len() {
        if error <= goal {
            break;
        }
        let image = apply(&direction);
        let step = error / dot(&direction, &image);
        add_scaled(&mut x, step, &direction);
        add_scaled(&mut residual, -step, &image);
        let next = dot(&residual, &residual);
        let keep = next / error;
        for (d, r) in direction.iter_mut().zip(&residual) {
            *d = r + keep * *d;
        }
        error = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_a_matrix_and_its_transpose() {
        let m = Matrix::from_rows(
            2,
            [vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]].into_iter(),
        );
        assert_eq!(m.times(&[1.0, -1.0]), [-1.0, -1.0, -1.0]);
        assert_eq!(m.transposed_times(&[1.0, 0.0, 2.0]), [11.0, 14.0]);
    }

    #[test]
    fn conjugate_gradients_solve_a_small_system() {
        let a = Matrix::from_rows(2, [vec![4.0, 1.0], vec![1.0, 3.0]].into_iter());
        let x = solve(|v| a.times(v), &[1.0, 2.0]);
        assert!(
            (x[0] - 1.0 / 11.0).abs() < 1e-5 && (x[1] - 7.0 / 11.0).abs() < 1e-5,
            "{x:?}"
        );
    }

    #[test]
    fn unit_has_root_mean_square_one() {
        let v = unit(&[3.0; 16]);
        assert_eq!(dot(&v, &v), 16.0);
    }
}
