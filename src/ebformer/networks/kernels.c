/* The two halves of a softmax layer, attention and MLP, as in forward.py: tokens are the columns, h [d, tokens]; the EM
 * steps of em_track.py; and the blocks of priorformer_block.py, alone and one after another as in priorformer.py.
 *
 * numpy spends most of its time on exponentials and on carrying intermediate results through memory. Here a few tokens
 * at a time (a tile, two vectors wide) pass through as many steps as possible, and scores are never stored. All
 * functions change nothing but what they are given, so any number of threads may call them at once.
 *
 * PER_CELL, ROWS and all other numbers that Python needs too are macros from constants.py: see hatch_build.py. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#define LANES 8
#define TARGET __attribute__((target("avx2,fma")))
int runs_here(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
#define LANES 4
#define TARGET
int runs_here(void) { return 1; }
#endif
#define INLINE TARGET static inline __attribute__((always_inline))

#define WIDTH (2 * LANES) /* tokens in a tile */
#define STRETCH 16        /* inputs of a layer summed at once */
#define KEYS 64           /* at once, so that every short loop over them keeps its constants in registers */
#define SAFE 60.0f        /* powers of two up to here and down to its negative are added without danger */
#define NEAR (LANES + 2 * LARGEST_REACH) /* keys of LANES neighbouring queries of priorformer, at most */

_Static_assert(BEYOND >= LANES, "nearness is read a vector at a time");

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t lanes_of_int __attribute__((vector_size(4 * LANES)));
typedef uint32_t lanes_of_bits __attribute__((vector_size(4 * LANES)));
typedef lanes pair[2];

/* A vector from memory; where fewer than LANES are left, the others are zero. */
INLINE lanes load(const float *from, int64_t left) {
    lanes x = {0};
    if (left >= LANES) memcpy(&x, from, sizeof x);
    else if (left > 0) memcpy(&x, from, sizeof(float) * left);
    return x;
}

INLINE void store(float *to, lanes x, int64_t left) {
    if (left >= LANES) memcpy(to, &x, sizeof x);
    else if (left > 0) memcpy(to, &x, sizeof(float) * left);
}

INLINE lanes choose(lanes_of_int where, lanes a, lanes b) {
    return (lanes)((where & (lanes_of_int)a) | (~where & (lanes_of_int)b));
}

INLINE lanes all(float x) { return (lanes){0} + x; }
INLINE lanes no_less(lanes x, float least) { return choose(x < least, all(least), x); }
INLINE lanes no_more(lanes x, float most) { return choose(x > most, all(most), x); }
INLINE lanes within(float least, lanes x, float most) { return no_more(no_less(x, least), most); }

/* A polynomial by Horner's rule, its coefficients from the highest power down. */
INLINE lanes polynomial(const float *coefficients, const int count, lanes x) {
    lanes sum = all(coefficients[0]);
    for (int i = 1; i < count; i++) sum = coefficients[i] + x * sum;
    return sum;
}
#define COEFFICIENTS(...) ((const float[]){__VA_ARGS__})
#define POLYNOMIAL(list, x) polynomial(COEFFICIENTS(list), sizeof COEFFICIENTS(list) / sizeof(float), x)

/* 2^x for -126 <= x < 127, to 2e-7 relative: a power of two times a polynomial on [-1/2, 1/2]. */
INLINE lanes power_of_two(lanes x) {
    const lanes shifted = x + 12582912.0f; /* adding 1.5 * 2^23 rounds to an integer, left in the low bits */
    const lanes r = x - (shifted - 12582912.0f);
    const lanes p = POLYNOMIAL(EXP2, r);
    return (lanes)((lanes_of_bits)p + ((lanes_of_bits)shifted << 23)); /* unsigned, for these sums may wrap */
}

/* y Phi(y), by the polynomial of forward.py. */
INLINE lanes gelu(lanes y) {
    const lanes logit = LOG2E * y * POLYNOMIAL(GELU_LOGIT, y * y);
    return choose(logit > 126.0f, all(0.0f), y / (1.0f + power_of_two(no_less(logit, -126.0f))));
}

INLINE void load_tile(pair *x, const float *from, int64_t rows, int64_t row, int64_t left) {
    for (int64_t r = 0; r < rows; r++) {
        x[r][0] = load(from + r * row, left);
        x[r][1] = load(from + r * row + LANES, left - LANES);
    }
}

INLINE void store_tile(float *to, const pair *x, int64_t rows, int64_t row, int64_t left) {
    for (int64_t r = 0; r < rows; r++) {
        store(to + r * row, x[r][0], left);
        store(to + r * row + LANES, x[r][1], left - LANES);
    }
}

INLINE void add_tile(float *to, const pair *x, int64_t rows, int64_t row, int64_t left) {
    for (int64_t r = 0; r < rows; r++) {
        store(to + r * row, load(to + r * row, left) + x[r][0], left);
        store(to + r * row + LANES, load(to + r * row + LANES, left - LANES) + x[r][1], left - LANES);
    }
}

/* Every column with mean 0 and variance 1. */
INLINE void normalise(pair *x, int64_t rows) {
    for (int side = 0; side < 2; side++) {
        lanes mean = {0}, variance = {0}, scale;
        for (int64_t r = 0; r < rows; r++) mean += x[r][side];
        mean /= (float)rows;
        for (int64_t r = 0; r < rows; r++) {
            x[r][side] -= mean;
            variance += x[r][side] * x[r][side];
        }
        variance = variance / (float)rows + LAYER_NORM_EPSILON;
        for (int l = 0; l < LANES; l++) scale[l] = 1.0f / sqrtf(variance[l]);
        for (int64_t r = 0; r < rows; r++) x[r][side] *= scale;
    }
}

/* y = W x + w, four rows of W at a time while there are as many: that keeps the sums in registers. Sums over STRETCH
 * inputs are added up, which loses less to rounding than one long sum. */
INLINE void some_rows(const int R, pair *y, const float *weight, const float *bias, const pair *x, int64_t inputs) {
    for (int r = 0; r < R; r++) y[r][0] = y[r][1] = all(bias[r]);
    for (int64_t start = 0; start < inputs; start += STRETCH) {
        const int64_t end = inputs - start < STRETCH ? inputs : start + STRETCH;
        pair sum[4] = {{{0}}};
        for (int64_t c = start; c < end; c++)
            for (int r = 0; r < R; r++) {
                sum[r][0] += weight[r * inputs + c] * x[c][0];
                sum[r][1] += weight[r * inputs + c] * x[c][1];
            }
        for (int r = 0; r < R; r++) {
            y[r][0] += sum[r][0];
            y[r][1] += sum[r][1];
        }
    }
}

INLINE void affine(pair *y, const float *weight, const float *bias, const pair *x, int64_t outputs, int64_t inputs) {
    int64_t r = 0;
    for (; r + 4 <= outputs; r += 4) some_rows(4, y + r, weight + r * inputs, bias + r, x, inputs);
    for (; r < outputs; r++) some_rows(1, y + r, weight + r * inputs, bias + r, x, inputs);
}

INLINE lanes dot(const int C, const lanes *q, const float *key, int64_t row) {
    lanes score = q[0] * key[0];
    for (int c = 1; c < C; c++) score += q[c] * key[c * row];
    return score;
}

/* One head of one tally: u queries attend to k keys, and what each gathers takes its place. The C rows of queries, keys
 * and values are `row` floats apart. */
INLINE void head(const int C, float *queries, const float *keys, const float *values, const float *share, int64_t u,
                 int64_t k, int64_t row) {
    float longest = 0.0f; /* the largest squared length of a key */
    for (int64_t j = 0; j < k; j++) {
        float square = 0.0f;
        for (int c = 0; c < C; c++) square += keys[c * row + j] * keys[c * row + j];
        if (!(square < longest)) longest = square;
    }
    for (int64_t i = 0; i < u; i += LANES) {
        lanes q[LARGEST_HEAD], sum[LARGEST_HEAD], total = {0}, square = {0}, top = all(-FLT_MAX);
        for (int c = 0; c < C; c++) {
            q[c] = load(queries + c * row + i, u - i) * LOG2E;
            square += q[c] * q[c];
            sum[c] = all(0.0f);
        }
        /* No score exceeds the length of the query times that of the key. Only where this allows scores beyond the
         * range of exponentials is the largest so far subtracted, among those of keys that count. */
        int safe = 1;
        for (int l = 0; l < LANES; l++) safe &= square[l] * longest < SAFE * SAFE;
        for (int64_t start = 0; start < k; start += KEYS) {
            const int64_t length = k - start < KEYS ? k - start : KEYS;
            const float *key = keys + start, *value = values + start, *weight = share + start;
            lanes p[KEYS];
            for (int64_t j = 0; j < length; j++) p[j] = dot(C, q, key + j, row);
            if (!safe) {
                const lanes before = top;
                for (int64_t j = 0; j < length; j++)
                    if (weight[j] > 0.0f) top = choose(p[j] > top, p[j], top);
                const lanes fade = power_of_two(no_less(before - top, -126.0f));
                total *= fade;
                for (int c = 0; c < C; c++) sum[c] *= fade;
                for (int64_t j = 0; j < length; j++) p[j] = within(-126.0f, p[j] - top, 0.0f);
            }
            for (int64_t j = 0; j < length; j++) p[j] = power_of_two(p[j]) * weight[j];
            for (int64_t j = 0; j < length; j++) {
                total += p[j];
                for (int c = 0; c < C; c++) sum[c] += p[j] * value[c * row + j];
            }
        }
        for (int c = 0; c < C; c++) store(queries + c * row + i, sum[c] / total, u - i);
    }
}

/* h += W_out attention(W_qkv normalised(h)): h [d, tallies, u]; the first k <= u tokens of each tally are attended with
 * share [tallies, k]. Room for the projected tokens: qkv [3 d + heads, tallies, u], the queries, the keys, and per head
 * its values and a row that is not needed here. */
TARGET void attention(float *h, const float *share, float *qkv, int64_t d, int64_t tallies, int64_t u, int64_t k,
                      int64_t heads, const float *qkv_weight, const float *qkv_bias, const float *out_weight,
                      const float *out_bias) {
    const int64_t row = tallies * u, c = d / heads;
    pair x[ROWS], y[ROWS];
    for (int64_t i = 0; i < row; i += WIDTH) {
        load_tile(x, h + i, d, row, row - i);
        normalise(x, d);
        affine(y, qkv_weight, qkv_bias, x, 3 * d + heads, d);
        store_tile(qkv + i, y, 3 * d + heads, row, row - i);
    }
    for (int64_t t = 0; t < tallies; t++)
        for (int64_t n = 0; n < heads; n++) {
            float *query = qkv + n * c * row + t * u, *key = query + d * row;
            const float *value = qkv + (2 * d + n * (c + 1)) * row + t * u;
#define OF_DIMENSION(C) case C: head(C, query, key, value, share + t * k, u, k, row); break;
            switch (c) { HEAD_SIZES(OF_DIMENSION) }
        }
    for (int64_t i = 0; i < row; i += WIDTH) {
        load_tile(x, qkv + i, d, row, row - i);
        affine(y, out_weight, out_bias, x, d, d);
        add_tile(h + i, y, d, row, row - i);
    }
}

/* h += W_down gelu(W_up normalised(h)): h [d, tokens], matrices [hidden, d] and [d, hidden]. */
TARGET void mlp(float *h, int64_t d, int64_t hidden, int64_t tokens, const float *up_weight, const float *up_bias,
                const float *down_weight, const float *down_bias) {
    pair x[ROWS], y[ROWS];
    for (int64_t i = 0; i < tokens; i += WIDTH) {
        load_tile(x, h + i, d, tokens, tokens - i);
        normalise(x, d);
        affine(y, up_weight, up_bias, x, hidden, d);
        for (int64_t r = 0; r < hidden; r++) {
            y[r][0] = gelu(y[r][0]);
            y[r][1] = gelu(y[r][1]);
        }
        affine(x, down_weight, down_bias, y, d, hidden);
        add_tile(h + i, x, d, tokens, tokens - i);
    }
}

INLINE float sum_of(lanes x) {
    float sum = 0.0f;
    for (int l = 0; l < LANES; l++) sum += x[l];
    return sum;
}

/* log2(x) for normal positive x: its exponent, plus 2 atanh((m - 1) / (m + 1)) / ln 2 of a mantissa m around 1. */
INLINE lanes logarithm(lanes x) {
    const lanes_of_int bits = (lanes_of_int)x - 0x3f3504f3; /* the bits of sqrt(1/2) */
    const lanes m = (lanes)((bits & 0x7fffff) + 0x3f3504f3), s = (m - 1.0f) / (m + 1.0f), square = s * s;
    const lanes high = 0.577078016f + square * (0.412198583f + square * 0.320598898f);
    return __builtin_convertvector(bits >> 23, lanes) + s * (2.885390082f + square * (0.961796694f + square * high));
}

/* d += sum_k (share_k / f_k) likelihood_k for R observations at once: their sums need not wait for one another, and the
 * a numbers of d pass through memory once. */
INLINE void add_factor(const int R, float *d, const float *likelihood, const float *share, const float *weights,
                       int64_t a) {
    lanes f[4] = {{0}};
    float ratio[4];
    for (int64_t j = 0; j < a; j += LANES) {
        const lanes w = load(weights + j, a - j);
        for (int k = 0; k < R; k++) f[k] += load(likelihood + k * a + j, a - j) * w;
    }
    for (int k = 0; k < R; k++) ratio[k] = share[k] / sum_of(f[k]);
    for (int64_t j = 0; j < a; j += LANES) {
        lanes sum = load(d + j, a - j);
        for (int k = 0; k < R; k++) sum += ratio[k] * load(likelihood + k * a + j, a - j);
        store(d + j, sum, a - j);
    }
}

INLINE void add_factors(float *d, const float *likelihood, const float *share, const float *weights, int64_t m,
                        int64_t a) {
    int64_t k = 0;
    for (; k + 4 <= m; k += 4) add_factor(4, d, likelihood + k * a, share + k, weights, a);
    for (; k < m; k++) add_factor(1, d, likelihood + k * a, share + k, weights, a);
}

/* `steps` steps of em_track.py from log-weights and velocities [a]: likelihood [m, a], share [m], room for 2 a numbers.
 * Returns how long the momentum has run. */
TARGET int64_t em_steps(const float *likelihood, const float *share, float *log_weights, float *velocity, float *room,
                        int64_t m, int64_t a, int64_t steps, int64_t run, int64_t check, float stride, float least,
                        float largest) {
    float *weights = room, *d = room + a;
    for (int64_t step = 1; step <= steps; step++) {
        for (int64_t j = 0; j < a; j += LANES) {
            const lanes exponent = within(-126.0f, load(log_weights + j, a - j) * LOG2E, 126.0f);
            store(weights + j, power_of_two(exponent), a - j);
            store(d + j, all(0.0f), a - j);
        }
        add_factors(d, likelihood, share, weights, m, a);
        run += 1;
        if (step % check == 0) {
            lanes slope = {0};
            for (int64_t j = 0; j < a; j += LANES)
                slope += (load(d + j, a - j) - 1.0f) * load(weights + j, a - j) * load(velocity + j, a - j);
            if (sum_of(slope) < 0.0f) {
                run = 1;
                memset(velocity, 0, sizeof(float) * a);
            }
        }
        const float beta = (float)run / (float)(run + MOMENTUM_DELAY);
        for (int64_t j = 0; j < a; j += LANES) {
            const lanes pull = within(least, logarithm(load(d + j, a - j)) / LOG2E, largest);
            const lanes speed = beta * load(velocity + j, a - j) + (1.0f + stride * beta) * pull;
            store(velocity + j, speed, a - j);
            store(log_weights + j, load(log_weights + j, a - j) + speed, a - j);
        }
    }
    return run;
}

/* Every column with mean square 1. */
INLINE void rms_normalise(pair *x, int64_t rows) {
    for (int side = 0; side < 2; side++) {
        lanes square = {0}, scale;
        for (int64_t r = 0; r < rows; r++) square += x[r][side] * x[r][side];
        square = square / (float)rows + RMS_NORM_EPSILON;
        for (int l = 0; l < LANES; l++) scale[l] = 1.0f / sqrtf(square[l]);
        for (int64_t r = 0; r < rows; r++) x[r][side] *= scale;
    }
}

/* h += W x + w for the d rows of a tile of the state; y is the new state, normalised. */
INLINE void add_and_read(pair *y, float *h, const float *weight, const float *bias, const pair *x, int64_t d,
                         int64_t inputs, int64_t row, int64_t left) {
    affine(y, weight, bias, x, d, inputs);
    add_tile(h, y, d, row, left);
    load_tile(y, h, d, row, left);
    rms_normalise(y, d);
}

/* One head in which cell i attends to the cells j within reach, with nearness[i - j] added to the logit: far below the
 * others out of reach, and there to be read BEYOND it. Logits count in powers of two. */
INLINE void near_head(const int C, float *queries, const float *keys, const float *values, const float *nearness,
                      int64_t reach, int64_t row) {
    for (int64_t i = 0; i < row; i += LANES) {
        const int64_t first = i > reach ? i - reach : 0, end = i + LANES + reach, last = end < row ? end : row;
        lanes q[LARGEST_HEAD], sum[LARGEST_HEAD], p[NEAR], total = {0}, top = all(-FLT_MAX);
        for (int c = 0; c < C; c++) {
            q[c] = load(queries + c * row + i, row - i);
            sum[c] = all(0.0f);
        }
        for (int64_t j = first; j < last; j++) {
            const lanes logit = dot(C, q, keys + j, row) + load(nearness + i - j, LANES);
            top = choose(logit > top, logit, top);
            p[j - first] = logit;
        }
        for (int64_t j = first; j < last; j++) {
            const lanes part = power_of_two(no_less(p[j - first] - top, -126.0f));
            total += part;
            for (int c = 0; c < C; c++) sum[c] += part * values[c * row + j];
        }
        for (int c = 0; c < C; c++) store(queries + c * row + i, sum[c] / total, row - i);
    }
}

/* A block of priorformer on `row` cells: h [d, row] moves on, and the `answers` numbers a cell says of its atoms go to
 * moves [answers, row]. Features [f, row], room qkv [3 d, row], nearness [heads, 2 (reach + BEYOND) + 1], zero [4 d]. */
TARGET void near_block(float *h, const float *features, float *moves, float *qkv, int64_t d, int64_t f, int64_t row,
                       int64_t heads, int64_t reach, int64_t answers, const float *embed_weight,
                       const float *embed_bias, const float *qkv_weight, const float *nearness, const float *out_weight,
                       const float *up_weight, const float *up_bias, const float *down_weight, const float *head_weight,
                       const float *head_bias, const float *zero) {
    const int64_t c = d / heads, hidden = 4 * d;
    pair x[ROWS], y[ROWS];
    for (int64_t i = 0; i < row; i += WIDTH) {
        load_tile(x, features + i, f, row, row - i);
        add_and_read(y, h + i, embed_weight, embed_bias, x, d, f, row, row - i);
        affine(x, qkv_weight, zero, y, 3 * d, d);
        store_tile(qkv + i, x, 3 * d, row, row - i);
    }
    for (int64_t n = 0; n < heads; n++) {
        float *query = qkv + n * c * row, *key = query + d * row, *value = key + d * row;
        const float *centre = nearness + n * (2 * (reach + BEYOND) + 1) + reach + BEYOND;
#define OF_NEAR(C) case C: near_head(C, query, key, value, centre, reach, row); break;
        switch (c) { NEAR_HEAD_SIZES(OF_NEAR) }
    }
    for (int64_t i = 0; i < row; i += WIDTH) {
        load_tile(x, qkv + i, d, row, row - i);
        add_and_read(y, h + i, out_weight, zero, x, d, d, row, row - i);
        affine(x, up_weight, up_bias, y, hidden, d);
        for (int64_t r = 0; r < hidden; r++)
            for (int side = 0; side < 2; side++) {
                const lanes exponent = within(-126.0f, x[r][side] * -LOG2E, 126.0f);
                x[r][side] /= 1.0f + power_of_two(exponent);
            }
        add_and_read(y, h + i, down_weight, zero, x, d, hidden, row, row - i);
        affine(x, head_weight, head_bias, y, answers, d);
        store_tile(moves + i, x, answers, row, row - i);
    }
}

INLINE lanes exponential(lanes x) { return power_of_two(within(-126.0f, x * LOG2E, 126.0f)); }

INLINE lanes inverse_sinh(lanes x) {
    const lanes size = choose(x < 0.0f, -x, x);
    lanes root;
    for (int l = 0; l < LANES; l++) root[l] = sqrtf(1.0f + size[l] * size[l]);
    const lanes found = logarithm(size + choose(size > 1e9f, size, root)) / LOG2E; /* there the square may overflow */
    return choose(x < 0.0f, -found, found);
}

/* Log-weights [a], none below `lowest`, whose exponentials sum to 1. */
INLINE void normalise_weights(float *log_weights, int64_t a, float lowest) {
    float sum = 0.0f;
    for (int64_t j = 0; j < a; j += LANES) {
        const lanes kept = no_less(load(log_weights + j, a - j), lowest), part = exponential(kept);
        store(log_weights + j, kept, a - j);
        for (int l = 0; l < LANES && j + l < a; l++) sum += part[l];
    }
    const float total = logf(sum);
    for (int64_t j = 0; j < a; j++) log_weights[j] -= total;
}

/* The EM factor D [a] of log-weights [a]; room for a numbers. */
INLINE void em_factor(float *d, const float *log_weights, const float *likelihood, const float *share, float *weights,
                      int64_t m, int64_t a) {
    for (int64_t j = 0; j < a; j += LANES) {
        store(weights + j, exponential(load(log_weights + j, a - j)), a - j);
        store(d + j, all(0.0f), a - j);
    }
    add_factors(d, likelihood, share, weights, m, a);
}

/* What a block reads of its atoms, to features [TRACK_FEATURES PER_CELL, a / PER_CELL]: for its own track and for EM's
 * the log counts, log D and how significantly D differs from 1, and the gap between the tracks. */
INLINE void read_tracks(float *features, const float *own, const float *em, const float *d_own, const float *d_em,
                        const float *precision, float log_n, int64_t a) {
    for (int64_t j = 0; j < a; j += LANES) {
        const lanes mine = load(own + j, a - j), theirs = load(em + j, a - j), scale = load(precision + j, a - j);
        const lanes d[2] = {load(d_own + j, a - j), load(d_em + j, a - j)};
        lanes read[TRACK_FEATURES];
        read[0] = within(LEAST_LOG_COUNT, mine + log_n, LARGEST_LOG_COUNT) / LOG_COUNT_UNIT;
        read[1] = within(LEAST_LOG_COUNT, theirs + log_n, LARGEST_LOG_COUNT) / LOG_COUNT_UNIT;
        for (int t = 0; t < 2; t++) {
            read[2 + t] = within(-LARGEST_LOG_FACTOR, logarithm(d[t]) / LOG2E, LARGEST_LOG_FACTOR);
            read[4 + t] = inverse_sinh((d[t] - 1.0f) * scale) / SURPRISE_UNIT;
        }
        read[6] = within(-LARGEST_GAP, theirs - mine, LARGEST_GAP) / GAP_UNIT;
        for (int t = 0; t < TRACK_FEATURES; t++)
            for (int l = 0; l < LANES && j + l < a; l++)
                features[(t * PER_CELL + (j + l) % PER_CELL) * (a / PER_CELL) + (j + l) / PER_CELL] = read[t][l];
    }
}

/* Move log-weights [a] by what a block says of them, moves [3 PER_CELL, a / PER_CELL]: along log D, towards EM's, and by
 * a shift. */
INLINE void move(float *own, const float *features, const float *moves, float lowest, int64_t a) {
    const int64_t row = a / PER_CELL;
    float top = -FLT_MAX;
    for (int64_t i = 0; i < PER_CELL * row; i += row)
        for (int64_t j = 0; j < row; j += LANES) {
            const float *at = moves + i + j;
            const lanes gradient = load(features + 2 * a + i + j, row - j);
            const lanes gap = load(features + 6 * a + i + j, row - j);
            const lanes along = load(at, row - j), towards = load(at + a, row - j), shift = load(at + 2 * a, row - j);
            const lanes by = (1.0f + along) * gradient + GAP_UNIT * gap / (1.0f + exponential(-towards)) + shift;
            for (int l = 0; l < LANES && j + l < row; l++) {
                float *weight = own + PER_CELL * (j + l) + i / row;
                *weight += by[l];
                if (*weight > top) top = *weight;
            }
        }
    for (int64_t j = 0; j < a; j++) own[j] -= top;
    normalise_weights(own, a, lowest);
}

/* The log-weights of accelerated EM after every `steps` steps from those in em [a]: to track [count, a]; room for 3 a
 * numbers. Likelihood [m, a], share [m]. */
TARGET void em_track(const float *likelihood, const float *share, float *em, float *track, float *room, int64_t m,
                     int64_t a, int64_t count, int64_t steps, int64_t check, float stride, float least, float largest,
                     float lowest) {
    float *velocity = room, *scratch = velocity + a;
    int64_t run = 0;
    memset(velocity, 0, sizeof(float) * a);
    for (int64_t b = 0; b < count; b++) {
        run = em_steps(likelihood, share, em, velocity, scratch, m, a, steps, run, check, stride, least, largest);
        normalise_weights(em, a, lowest);
        memcpy(track + b * a, em, sizeof(float) * a);
    }
}

/* All blocks of priorformer from the log-weights start [a], beside those of EM, track [blocks, a]; answers [blocks, a]
 * are the log-weights after each. Likelihood [m, a], share [m], precision [a]; features [f, a / PER_CELL], of which
 * those beyond the first TRACK_FEATURES PER_CELL never change; the 11 arrays of each block, as near_block takes them;
 * room for (4 d + 3 PER_CELL) a / PER_CELL + 3 a numbers. */
TARGET void all_blocks(const float *likelihood, const float *share, const float *precision, const float *start,
                       const float *track, float *features, float *answers, float *room, const float *const *blocks,
                       int64_t m, int64_t a, int64_t count, int64_t d, int64_t f, int64_t heads, int64_t reach,
                       float lowest, float log_n) {
    const int64_t row = a / PER_CELL;
    float *h = room, *qkv = h + d * row, *moves = qkv + 3 * d * row, *d_own = moves + 3 * a, *d_em = d_own + a,
          *scratch = d_em + a;
    const float *own = start;
    memset(h, 0, sizeof(float) * d * row);
    for (int64_t b = 0; b < count; b++) {
        const float *em = track + b * a;
        float *next = answers + b * a;
        memcpy(next, own, sizeof(float) * a);
        em_factor(d_own, next, likelihood, share, scratch, m, a);
        em_factor(d_em, em, likelihood, share, scratch, m, a);
        read_tracks(features, next, em, d_own, d_em, precision, log_n, a);
        const float *const *w = blocks + 11 * b;
        near_block(h, features, moves, qkv, d, f, row, heads, reach, 3 * PER_CELL, w[0], w[1], w[2], w[3], w[4], w[5],
                   w[6], w[7], w[8], w[9], w[10]);
        move(next, features, moves, lowest, a);
        own = next;
    }
}
