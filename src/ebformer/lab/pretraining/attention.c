/* Softmax and linear attention with multiplicities over ragged sequences, forward and backward, on one thread.
 *
 * The tokens of all sequences are stacked in one array [T, 3 d] of queries, keys and values (heads contiguous within
 * each); sequence b owns rows start[b] .. start[b+1]-1. Key j adds bias[j], the log of its multiplicity, to its logits.
 * The head dimension D is a compile-time constant, so a pair of tokens costs a few multiply-adds and one exponential in
 * registers, and nothing of size u x u is ever stored. LONGEST and LEAST_LOGIT come from
 * attention.py, LOG2E and EXP2 from constants.py. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 8
#define EACH_COORDINATE for (int c = 0; c < D; c++)

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t lanes_of_int __attribute__((vector_size(4 * LANES)));

static lanes K[LONGEST / LANES][D], V[LONGEST / LANES][D], dK[LONGEST / LANES][D], dV[LONGEST / LANES][D];
static lanes tilt[LONGEST / LANES], logit[LONGEST / LANES];

static inline lanes all(float x) { return x - (lanes){0}; }

static inline lanes larger(lanes a, lanes b) {
    const lanes_of_int where = a > b;
    return (lanes)((where & (lanes_of_int)a) | (~where & (lanes_of_int)b));
}

/* The lanes combined by halves: every lane of the result holds the sum, or the largest. */
#define COMBINE(a, operation) \
    a = operation(a, __builtin_shuffle(a, (lanes_of_int){4, 5, 6, 7, 0, 1, 2, 3})); \
    a = operation(a, __builtin_shuffle(a, (lanes_of_int){2, 3, 0, 1, 6, 7, 4, 5})); \
    a = operation(a, __builtin_shuffle(a, (lanes_of_int){1, 0, 3, 2, 5, 4, 7, 6}));
static inline lanes plus(lanes a, lanes b) { return a + b; }
static inline float sum_of(lanes a) { COMBINE(a, plus) return a[0]; }
static inline float max_of(lanes a) { COMBINE(a, larger) return a[0]; }

/* 2^x for x <= 0, to 2e-7 relative: a power of two times a polynomial on [-1/2, 1/2]. */
static inline lanes exp2_negative(lanes x) {
    x = larger(x, all(-126.0f));
    const lanes shifted = x + 12582912.0f; /* adding 1.5 * 2^23 rounds to an integer, left in the low bits */
    const lanes r = x - (shifted - 12582912.0f);
    static const float coefficients[] = {EXP2};
    lanes p = all(coefficients[0]);
    for (int i = 1; i < (int)(sizeof coefficients / sizeof *coefficients); i++) p = coefficients[i] + r * p;
    return (lanes)((lanes_of_int)p + ((lanes_of_int)shifted << 23));
}

/* One head of one sequence in blocks of LANES tokens, one vector per coordinate; padding is zero. */
static void gather(const float *rows, int64_t u, int64_t stride, lanes (*out)[D]) {
    for (int64_t j = 0; j < u; j++) EACH_COORDINATE out[j / LANES][c][j % LANES] = rows[j * stride + c];
    for (int64_t j = u; j % LANES; j++) EACH_COORDINATE out[j / LANES][c][j % LANES] = 0.0f;
}

/* Logits are in base 2 throughout: queries and biases carry a factor log2(e). */
static int64_t gather_tilt(const float *bias, int64_t u) {
    int64_t j = 0;
    for (; j < u; j++) tilt[j / LANES][j % LANES] = bias[j] * LOG2E;
    for (; j % LANES; j++) tilt[j / LANES][j % LANES] = LEAST_LOGIT;
    return j / LANES;
}

/* out [T, d]; lse [T, heads] is the base 2 logarithm of every query's normaliser, kept for the backward pass. */
void forward(const float *qkv, const float *bias, const int64_t *start, int64_t sequences, int64_t heads, float scale,
             float *out, float *lse) {
    const int64_t d = heads * D, stride = 3 * d;
    for (int64_t b = 0; b < sequences; b++) {
        const int64_t first = start[b], u = start[b + 1] - first, blocks = gather_tilt(bias + first, u);
        for (int64_t h = 0; h < heads; h++) {
            const float *Q = qkv + first * stride + h * D;
            gather(Q + d, u, stride, K);
            gather(Q + 2 * d, u, stride, V);
            for (int64_t i = 0; i < u; i++) {
                lanes q[D], sum[D], total = all(0.0f), top = all(LEAST_LOGIT);
                EACH_COORDINATE { q[c] = all(Q[i * stride + c] * scale * LOG2E); sum[c] = all(0.0f); }
                for (int64_t j = 0; j < blocks; j++) {
                    lanes s = tilt[j];
                    EACH_COORDINATE s += q[c] * K[j][c];
                    logit[j] = s;
                    top = larger(s, top);
                }
                const float highest = max_of(top);
                for (int64_t j = 0; j < blocks; j++) {
                    const lanes p = exp2_negative(logit[j] - highest);
                    total += p;
                    EACH_COORDINATE sum[c] += p * V[j][c];
                }
                const float normaliser = sum_of(total);
                EACH_COORDINATE out[(first + i) * d + h * D + c] = sum_of(sum[c]) / normaliser;
                lse[(first + i) * heads + h] = highest + log2f(normaliser);
            }
        }
    }
}

/* dqkv [T, 3 d] from g = dout [T, d]: with weights p, the logits receive p_j (g . v_j - g . out). */
void backward(const float *qkv, const float *bias, const int64_t *start, int64_t sequences, int64_t heads, float scale,
              const float *out, const float *lse, const float *dout, float *dqkv) {
    const int64_t d = heads * D, stride = 3 * d;
    for (int64_t b = 0; b < sequences; b++) {
        const int64_t first = start[b], u = start[b + 1] - first, blocks = gather_tilt(bias + first, u);
        for (int64_t h = 0; h < heads; h++) {
            const float *Q = qkv + first * stride + h * D;
            float *dQ = dqkv + first * stride + h * D;
            gather(Q + d, u, stride, K);
            gather(Q + 2 * d, u, stride, V);
            memset(dK, 0, sizeof(dK[0]) * blocks);
            memset(dV, 0, sizeof(dV[0]) * blocks);
            for (int64_t i = 0; i < u; i++) {
                const int64_t row = (first + i) * d + h * D;
                const float normaliser = lse[(first + i) * heads + h];
                float centre = 0.0f;
                lanes q[D], g[D], dq[D];
                EACH_COORDINATE {
                    q[c] = all(Q[i * stride + c] * scale * LOG2E);
                    g[c] = all(dout[row + c]);
                    centre += dout[row + c] * out[row + c];
                    dq[c] = all(0.0f);
                }
                for (int64_t j = 0; j < blocks; j++) {
                    lanes s = tilt[j] - normaliser, dp = all(-centre);
                    EACH_COORDINATE { s += q[c] * K[j][c]; dp += g[c] * V[j][c]; }
                    const lanes p = exp2_negative(s), ds = p * dp;
                    EACH_COORDINATE { dq[c] += ds * K[j][c]; dK[j][c] += ds * q[c]; dV[j][c] += p * g[c]; }
                }
                EACH_COORDINATE dQ[i * stride + c] = sum_of(dq[c]) * scale;
            }
            for (int64_t j = 0; j < u; j++)
                EACH_COORDINATE {
                    dQ[j * stride + d + c] = dK[j / LANES][c][j % LANES] / LOG2E;
                    dQ[j * stride + 2 * d + c] = dV[j / LANES][c][j % LANES];
                }
        }
    }
}

/* Linear attention out_i = q_i S, S = sum_j share_j k_j v_j^T within every sequence; out [T, d]. */
void linear_forward(const float *qkv, const float *share, const int64_t *start, int64_t sequences, int64_t heads,
                    float *out) {
    const int64_t d = heads * D, stride = 3 * d;
    for (int64_t b = 0; b < sequences; b++)
        for (int64_t h = 0; h < heads; h++) {
            float S[D][D] = {{0}};
            for (int64_t j = start[b]; j < start[b + 1]; j++) {
                const float *k = qkv + j * stride + d + h * D, *v = k + d;
                EACH_COORDINATE for (int e = 0; e < D; e++) S[c][e] += share[j] * k[c] * v[e];
            }
            for (int64_t i = start[b]; i < start[b + 1]; i++) {
                float row[D] = {0};
                EACH_COORDINATE for (int e = 0; e < D; e++) row[e] += qkv[i * stride + h * D + c] * S[c][e];
                EACH_COORDINATE out[i * d + h * D + c] = row[c];
            }
        }
}

/* dqkv [T, 3 d] from g = dout [T, d]: S receives dS = sum_i q_i g_i^T. */
void linear_backward(const float *qkv, const float *share, const int64_t *start, int64_t sequences, int64_t heads,
                     const float *dout, float *dqkv) {
    const int64_t d = heads * D, stride = 3 * d;
    for (int64_t b = 0; b < sequences; b++)
        for (int64_t h = 0; h < heads; h++) {
            float S[D][D] = {{0}}, dS[D][D] = {{0}};
            for (int64_t j = start[b]; j < start[b + 1]; j++) {
                const float *q = qkv + j * stride + h * D, *k = q + d, *v = k + d, *g = dout + j * d + h * D;
                EACH_COORDINATE for (int e = 0; e < D; e++) {
                    S[e][c] += share[j] * k[c] * v[e]; /* transposed, so that the loops below run along rows */
                    dS[c][e] += q[c] * g[e];
                }
            }
            for (int64_t j = start[b]; j < start[b + 1]; j++) {
                const float *k = qkv + j * stride + d + h * D, *v = k + d, *g = dout + j * d + h * D;
                float dq[D] = {0}, dk[D] = {0}, dv[D] = {0}, *dQ = dqkv + j * stride + h * D;
                EACH_COORDINATE for (int e = 0; e < D; e++) {
                    dq[e] += g[c] * S[c][e];
                    dk[c] += dS[c][e] * v[e];
                    dv[e] += k[c] * dS[c][e];
                }
                EACH_COORDINATE { dQ[c] = dq[c]; dQ[d + c] = share[j] * dk[c]; dQ[2 * d + c] = share[j] * dv[c]; }
            }
        }
}
