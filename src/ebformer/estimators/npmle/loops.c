/* The loops of the NPMLE's solver that take matrices and know no channel: EM and `reweigh` of weights.py, and the
 * second-order expansion of newton.py. A [u, k] has one row per observation. Functions change nothing but what they
 * are given to change, so any number of threads may call them at once. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
int runs_here(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
#define LANES 2
#define TARGET
int runs_here(void) { return 1; }
#endif
#define INLINE TARGET static inline __attribute__((always_inline))

#define CHUNK 32     /* rows of a product A'A that are summed at once */
#define LEAST 1e-30  /* the least F, as in columns.py */
#define EXCHANGES 20 /* of the active set, at most, for one quadratic model */

typedef double lanes __attribute__((vector_size(8 * LANES)));

INLINE lanes load(const double *from) {
    lanes x;
    memcpy(&x, from, sizeof x);
    return x;
}

INLINE double sum(lanes x) {
    double total = 0;
    for (int l = 0; l < LANES; l++) total += x[l];
    return total;
}

INLINE double dot(const double *x, const double *y, int64_t n) {
    lanes one = {0}, two = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        one += load(x + i) * load(y + i);
        two += load(x + i + LANES) * load(y + i + LANES);
    }
    double total = sum(one + two);
    for (; i < n; i++) total += x[i] * y[i];
    return total;
}

INLINE void add(double *to, double factor, const double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] += factor * x[i];
}

INLINE double largest(const double *x, int64_t n) {
    double most = x[0];
    for (int64_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
    return most;
}

INLINE double total(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

/* F = A v, not below LEAST. */
INLINE void mix(double *f, const double *a, const double *v, int64_t u, int64_t k) {
    for (int64_t r = 0; r < u; r++) f[r] = fmax(dot(a + r * k, v, k), LEAST);
}

/* D = c A. */
INLINE void pull(double *d, const double *a, const double *c, int64_t u, int64_t k) {
    memset(d, 0, k * sizeof *d);
    for (int64_t r = 0; r < u; r++) add(d, c[r], a + r * k, k);
}

/* w <- w * (q / A w) A, so many times; room for k numbers. */
TARGET void em_steps(const double *a, const double *q, double *w, int64_t u, int64_t k, int64_t steps, double *room) {
    while (steps--) {
        memset(room, 0, k * sizeof *room);
        for (int64_t r = 0; r < u; r++) add(room, q[r] / fmax(dot(a + r * k, w, k), LEAST), a + r * k, k);
        for (int64_t j = 0; j < k; j++) w[j] *= room[j];
    }
}

/* H += P'P for the CHUNK rows of P [m, CHUNK], of which each holds a column; only j <= i + 1 is right. */
INLINE void add_gram(double *h, const double *p, int64_t m) {
    for (int64_t i = 0; i < m; i += 2)
        for (int64_t j = 0; j <= i; j += 2) {
            const int right = i + 1 < m, above = j + 1 < m;
            const double *i0 = p + i * CHUNK, *i1 = right ? i0 + CHUNK : i0;
            const double *j0 = p + j * CHUNK, *j1 = above ? j0 + CHUNK : j0;
            lanes s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0};
            for (int64_t r = 0; r < CHUNK; r += LANES) {
                const lanes x0 = load(i0 + r), x1 = load(i1 + r), y0 = load(j0 + r), y1 = load(j1 + r);
                s00 += x0 * y0;
                s01 += x0 * y1;
                s10 += x1 * y0;
                s11 += x1 * y1;
            }
            h[i * m + j] += sum(s00);
            if (above) h[i * m + j + 1] += sum(s01);
            if (right) h[(i + 1) * m + j] += sum(s10);
            if (right && above) h[(i + 1) * m + j + 1] += sum(s11);
        }
}

INLINE void mirror(double *h, int64_t m) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i + 1; j < m; j++) h[i * m + j] = h[j * m + i];
}

/* H = B'B with B = diag(scale) A, of the m chosen columns; room for m CHUNK numbers. */
INLINE void gram(double *h, const double *a, const double *scale, const int64_t *chosen, int64_t m, int64_t u,
                 int64_t k, double *room) {
    memset(h, 0, m * m * sizeof *h);
    for (int64_t start = 0; start < u; start += CHUNK) {
        for (int64_t r = 0; r < CHUNK; r++) {
            const int64_t row = start + r < u ? start + r : u - 1;
            const double factor = start + r < u ? scale[row] : 0.0;
            for (int64_t i = 0; i < m; i++) room[i * CHUNK + r] = factor * a[row * k + chosen[i]];
        }
        add_gram(h, room, m);
    }
    mirror(h, m);
}

/* y = H^-1 b by Cholesky's factor L, whose diagonal is kept inverted, with `ridge` of the diagonal added; 0 where H is
 * not definite in floating point. */
INLINE int cholesky_solve(double *y, double *l, const double *h, const double *b, int64_t m, double ridge) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < i; j++) l[i * m + j] = (h[i * m + j] - dot(l + i * m, l + j * m, j)) * l[j * m + j];
        const double left = h[i * m + i] * (1 + ridge) - dot(l + i * m, l + i * m, i);
        if (!(left > 0)) return 0;
        l[i * m + i] = 1 / sqrt(left);
        y[i] = (b[i] - dot(l + i * m, y, i)) * l[i * m + i];
    }
    for (int64_t i = m; i-- > 0;) {
        y[i] *= l[i * m + i];
        add(y, -y[i], l + i * m, i);
    }
    return 1;
}

TARGET static void positive_definite_solve(double *y, double *l, const double *h, const double *b, int64_t m) {
    static const double ridges[] = {0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-3};
    for (int i = 0; i < 9; i++)
        if (cholesky_solve(y, l, h, b, m, ridges[i])) return;
    for (int64_t i = 0; i < m; i++) y[i] = b[i] / h[i * m + i];
}

INLINE double quadratic(const double *h, const double *b, const double *v, int64_t m) {
    double value = 0;
    for (int64_t i = 0; i < m; i++) value += (0.5 * dot(h + i * m, v, m) - b[i]) * v[i];
    return value;
}

/* Lower v'Hv/2 - b'v over v >= 0 from a feasible v [m], dropping variables that would turn negative, for good. H and b
 * are overwritten; room for m (m + 3) numbers and 2 m indices. */
TARGET static void nonnegative_minimiser(double *v, double *h, double *b, int64_t m, double *room, int64_t *indices) {
    double *y = room, *at = y + m, *cut = at + m, *l = cut + m;
    int64_t *free = indices, *kept = free + m, n = m;
    for (int64_t i = 0; i < m; i++) free[i] = i, at[i] = v[i];
    double value = quadratic(h, b, at, n);
    for (;;) {
        double fraction = INFINITY;
        positive_definite_solve(y, l, h, b, n);
        for (int64_t i = 0; i < n; i++) {
            cut[i] = y[i] > 0 ? y[i] : 0.0;
            if (!(y[i] > 0)) fraction = fmin(fraction, at[i] / fmax(at[i] - y[i], 1e-300));
        }
        if (fraction == INFINITY) break;
        const double cut_value = quadratic(h, b, cut, n);
        const int lower = cut_value < value;
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            if (y[i] > 0 || (!lower && at[i] / fmax(at[i] - y[i], 1e-300) > fraction)) kept[count++] = i;
        for (int64_t j = 0; j < count; j++) {
            const int64_t i = kept[j];
            at[j] = lower ? cut[i] : at[i] + fraction * (y[i] - at[i]);
            free[j] = free[i], b[j] = b[i];
            for (int64_t c = 0; c < count; c++) h[j * count + c] = h[i * n + kept[c]];
        }
        n = count;
        value = lower ? cut_value : quadratic(h, b, at, n);
    }
    memset(v, 0, m * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[free[i]] = y[i];
}

/* The a in (0, 1] that roughly maximises sum q log(1 + a change) - a mass; exactly 1 where it still rises there. */
TARGET static double line_maximiser(const double *q, const double *change, double mass, int64_t u) {
    double lowest = change[0];
    for (int64_t r = 1; r < u; r++) lowest = fmin(lowest, change[r]);
    double a = lowest > -0.9 ? 1.0 : -0.9 / lowest;
    for (int step = 0; step < 6; step++) {
        double slope = -mass, bend = 0;
        for (int64_t r = 0; r < u; r++) {
            const double z = change[r] / (1 + a * change[r]);
            slope += q[r] * z, bend += q[r] * z * z;
        }
        if (a == 1.0 && slope >= 0) break;
        const double before = a;
        a = fmin(1.0, fmin(fmax(a + slope / bend, 0.1 * a), 0.99 / fmax(-lowest, 0.99)));
        if (fabs(a - before) < 0.05 * before) break;
    }
    return a;
}

/* Whether an entry exceeds `least` and is no lower than its neighbours. */
INLINE int crest(const double *height, int64_t j, int64_t k, double least) {
    return height[j] > least && (j == 0 || height[j] > height[j - 1]) && (j == k - 1 || height[j] >= height[j + 1]);
}

/* As in weights.py, but `weights` are changed; returns the number of steps. Room for 4 u + 5 k + k (2 k + 2 + CHUNK)
 * numbers and 3 k indices. */
TARGET int64_t reweigh(const double *a, const double *q, double *weights, double *sparse, int64_t u, int64_t k,
                       double tolerance, int64_t steps, double *room, int64_t *indices) {
    double *f = room, *c = f + u, *scale = c + u, *change = scale + u, *d = change + u, *gradient = d + k;
    double *v = gradient + k, *b = v + k, *h = b + k, *rest = h + k * k;
    int64_t *chosen = indices, *others = chosen + k;
    double part = 0;
    mix(f, a, weights, u, k);
    for (int64_t step = 0; step < steps; step++) {
        for (int64_t r = 0; r < u; r++) c[r] = q[r] / f[r], scale[r] = sqrt(q[r]) / f[r];
        pull(d, a, c, u, k);
        const double gap = largest(d, k) - 1, slack = fmax(0.01 * gap, 1e-15);
        if (part == 1.0 && gap <= tolerance) return step;
        for (int64_t j = 0; j < k; j++) gradient[j] = d[j] - 1;
        for (int exchange = 0; exchange < EXCHANGES; exchange++) {
            int64_t m = 0;
            for (int64_t j = 0; j < k; j++)
                if (sparse[j] > 0 || crest(gradient, j, k, slack)) {
                    v[m] = sparse[j], b[m] = 2 * d[j] - 1;
                    chosen[m++] = j;
                }
            gram(h, a, scale, chosen, m, u, k, rest);
            nonnegative_minimiser(v, h, b, m, rest, others);
            memset(sparse, 0, k * sizeof *sparse);
            for (int64_t i = 0; i < m; i++) sparse[chosen[i]] = v[i];
            mix(change, a, sparse, u, k);
            for (int64_t r = 0; r < u; r++) {
                change[r] /= f[r];
                c[r] = q[r] * change[r] / f[r];
            }
            pull(gradient, a, c, u, k);
            for (int64_t j = 0; j < k; j++) gradient[j] = sparse[j] > 0 ? 0.0 : 2 * d[j] - 1 - gradient[j];
            if (largest(gradient, k) <= slack) break;
        }
        for (int64_t r = 0; r < u; r++) change[r] -= 1;
        part = line_maximiser(q, change, total(sparse, k) - total(weights, k), u);
        for (int64_t j = 0; j < k; j++) weights[j] = part == 1.0 ? sparse[j] : weights[j] + part * (sparse[j] - weights[j]);
        const double mass = total(weights, k);
        for (int64_t j = 0; j < k; j++) weights[j] /= mass;
        mix(f, a, weights, u, k);
    }
    const double mass = total(sparse, k);
    if (part != 1.0)
        for (int64_t j = 0; j < k; j++) weights[j] = sparse[j] / mass;
    return steps;
}

/* F [u], the curve D, D', D'' [3, k] and the Gram matrix [2 k, 2 k] of diag(sqrt(q) / F) [A, A'], given A, A' and A''.
 * Room for 2 k CHUNK numbers. */
TARGET void expand(const double *a, const double *da, const double *dda, const double *q, const double *w, int64_t u,
                   int64_t k, double *f, double *curve, double *h, double *room) {
    memset(curve, 0, 3 * k * sizeof *curve);
    memset(h, 0, 4 * k * k * sizeof *h);
    mix(f, a, w, u, k);
    for (int64_t start = 0; start < u; start += CHUNK) {
        memset(room, 0, 2 * k * CHUNK * sizeof *room);
        for (int64_t r = start; r < u && r < start + CHUNK; r++) {
            const double c = q[r] / f[r], scale = sqrt(q[r]) / f[r];
            add(curve, c, a + r * k, k);
            add(curve + k, c, da + r * k, k);
            add(curve + 2 * k, c, dda + r * k, k);
            for (int64_t j = 0; j < k; j++) {
                room[j * CHUNK + r - start] = scale * a[r * k + j];
                room[(k + j) * CHUNK + r - start] = scale * da[r * k + j];
            }
        }
        add_gram(h, room, 2 * k);
    }
    mirror(h, 2 * k);
}

/* Newton's step of a mixture with curve [3, k], Gram matrix [2 k, 2 k] and weights w, as newton.py takes it: the new
 * weights and then alpha, `step` [2 k]. `moves` says which atoms may move. Returns the largest entry of the gradient,
 * each divided by its scale; -1 if the damped Hessian is not definite in floating point. Room for 8 k (k + 2) numbers
 * and 2 k indices. */
TARGET double newton_step(const double *curve, const double *h, const double *w, const uint8_t *moves, int64_t k,
                          double damping, double *step, double *room, int64_t *free) {
    const double *slope = curve + k, *second = curve + 2 * k;
    double *scale = room, *gradient = scale + 2 * k, *bend = gradient + 2 * k, *right = bend + 2 * k;
    double *y = right + 2 * k, *part = y + 2 * k, *l = part + 4 * k * k, steepest = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < 2 * k; i++) {
        bend[i] = i < k ? 0.0 : -second[i - k] / w[i - k];
        scale[i] = sqrt(h[i * 2 * k + i] + fmax(bend[i], 0.0));
        gradient[i] = (i < k ? curve[i] - 1 : slope[i - k]) / scale[i];
        bend[i] /= scale[i] * scale[i];
        step[i] = i < k ? w[i] : 0.0;
        if (i >= k && !moves[i - k]) continue;
        steepest = fmax(steepest, fabs(gradient[i]));
        free[n++] = i;
    }
    for (int gone = 1; gone;) {
        for (int64_t i = 0; i < n; i++) {
            const double *row = h + free[i] * 2 * k;
            right[i] = gradient[free[i]];
            for (int64_t j = 0; j < k; j++) /* what the weights that were given up leave to do */
                if (step[j] == 0) right[i] += row[j] * w[j] / scale[free[i]];
            for (int64_t j = 0; j < n; j++) part[i * n + j] = row[free[j]] / (scale[free[i]] * scale[free[j]]);
        }
        int solved = 0;
        for (int upward = 0; upward < 2 && !solved; upward++) {
            for (int64_t i = 0; i < n; i++) {
                const double unbent = h[free[i] * (2 * k + 1)] / (scale[free[i]] * scale[free[i]]);
                part[i * (n + 1)] = unbent + damping + (upward ? fmax(bend[free[i]], 0.0) : bend[free[i]]);
            }
            solved = cholesky_solve(y, l, part, right, n, 0.0);
        }
        if (!solved) return -1;
        gone = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = free[i];
            step[at] = (at < k ? w[at] : 0.0) + y[i] / scale[at];
            if (at < k && step[at] < 0) step[at] = 0.0, gone = 1;
        }
        int64_t left = 0;
        for (int64_t i = 0; i < n; i++)
            if (step[free[i] % k] > 0) free[left++] = free[i];
            else step[free[i]] = 0.0;
        n = left;
    }
    return steepest;
}
