/* The C interface: a worker whose gradients are computed by code of yours, in any language; and the policies
 * alone, for a training loop of your own.
 *
 * A worker joins a job as `steelyard worker` does and speaks to scheduler and servers on threads of its own.
 * The caller asks for the next task, computes it, and says when ranges of the gradient are final, so that
 * they are sent while the rest is computed:
 *
 *   steelyard_worker* worker = steelyard_join(description, weights);
 *   for (steelyard_task task; steelyard_next(worker, 0.2, &task) == 0 && task.kind != STEELYARD_END;) {
 *     if (task.kind == STEELYARD_WAIT) continue;       // nothing yet: a moment to look for Ctrl-C
 *     ... compute the samples from task.parameters; in training, write task.gradient ...
 *     steelyard_done(worker, loss, correct);
 *   }
 *   steelyard_free(worker);
 *
 * Numbers are 32-bit floats in one flat buffer, tensor behind tensor in row-major order, as the description
 * lists them. A gradient is the sum over the samples of the task, each times its weight.
 *
 * Errors: functions that return int give 0, or an exit code of the command line (2 usage, 64.. others);
 * those that return a pointer give NULL. steelyard_error() then says what is wrong and what to do.
 *
 * Threads: one thread calls the functions of a worker, but for steelyard_final(), steelyard_leave() and
 * steelyard_wanted(), which any thread may call. No function calls back. After a fork only the parent goes
 * on.
 *
 * Promised: what is declared here keeps its meaning while STEELYARD_API stays the same.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STEELYARD_API 1

/* Of the library: STEELYARD_API when it was built; its version, "0.1.0". */
int steelyard_api(void);
const char* steelyard_version(void);
/* Why the last call of this thread failed: one text, valid until its next call. */
const char* steelyard_error(void);

/* ---- a worker */

typedef struct steelyard_worker steelyard_worker;

/* Begins to join a job; steelyard_next() tells how that goes on. `description` is a JSON object:
 *
 *   scheduler       where it is: "host:7070", "ipc:///path"
 *   name            what people call this worker; left out: host and process
 *   kind            "cpu" or "gpu"
 *   simulate_slowdown
 *                   slows the computing down, to try unequal machines ("2", as in a job file); left out: "1"
 *   exchange        "auto" (shared memory, where it works) or "sockets"; left out: "auto"
 *   keys            a directory of keys (`steelyard keys`), or a file of them; left out: plain text
 *   wait            seconds for the scheduler to answer; left out: 60
 *   trace           a directory in which it writes down what it does and when (`steelyard trace` shows that);
 *                   left out: nowhere
 *   quiet           nothing on standard error; left out: false
 *   job             the text of a job file (TOML): what the scheduler trains if it has no job of its own and
 *                   this is the first worker
 *   tensors         a list, in the order of the flat buffer: {"name", "shape", "rule", "decay", "rate"}.
 *                   rule: "step" (by the optimizer; the default), or "mean": what is pushed is how far the
 *                   tensor moved, and the mean of that is added. decay, rate: factors (default 1) on the
 *                   job's weight decay and learning rate
 *   data            what people call the data
 *   data_hash       a mark of its content, which checkpoints keep; may be left out
 *   train_samples   and test_samples (0: none): how many
 *   grain           shares of a round are whole numbers of so many samples; left out: 1
 *
 * Where name, simulate_slowdown, exchange, keys or trace is left out, the environment may give it, as in
 * STEELYARD_NAME.
 *
 * `weights`: the first parameters, of this job if no worker came sooner. Copied. */
steelyard_worker* steelyard_join(const char* description, const float* weights);

enum {
  STEELYARD_WAIT = 0,     /* nothing to do until the time was over */
  STEELYARD_JOINED = 1,   /* once: the job has taken this worker; steelyard_job() tells which job it is */
  STEELYARD_TRAIN = 2,    /* write the gradient of these training samples, say done */
  STEELYARD_EVALUATE = 3, /* compute the loss of these test samples, say done */
  STEELYARD_END = 4       /* the job is over, or this worker has left it; again for each further call */
};

typedef struct steelyard_task {
  int32_t kind;
  int32_t code;            /* END: the exit code; 0: all went well */
  const float* parameters; /* TRAIN, EVALUATE: to compute from. END: the last ones, or NULL */
  float* gradient;         /* TRAIN: to be written, all of it; its first values mean nothing */
  const uint64_t* samples; /* numbers of samples, in order */
  uint64_t count;          /* how many */
  uint64_t epoch;          /* from 0 */
  uint64_t position;       /* of the first sample, in the order of this epoch */
  int32_t main;            /* END: whether this one of all workers is to keep the results */
} steelyard_task;

/* Waits up to `seconds` for something to do. A task that was given before and not done is given up. Pointers
 * in the task are valid until it is done or given up; at the END, until steelyard_free().
 * At the END steelyard_error() says what happened, for people; it is empty if all went well. */
int steelyard_next(steelyard_worker* worker, double seconds, steelyard_task* task);

/* Once STEELYARD_JOINED was given: a JSON object with the job's name, seed, batch, epochs, train_samples,
 * test_samples, grain, workers, clip_norm, the name of this worker, and its slot. Valid until
 * steelyard_free(). */
const char* steelyard_job(steelyard_worker* worker);

/* Numbers of the training samples at positions [begin, end) of an epoch, for reading ahead. Once joined. */
int steelyard_samples(steelyard_worker* worker, uint64_t epoch, uint64_t begin, uint64_t end, uint64_t* into);

/* The weight of this task's gradient, in all; before its first steelyard_final(). Left out: its samples. */
int steelyard_weigh(steelyard_worker* worker, double weight);

/* Floats [begin, end) of the gradient will not change any more. Each float once at the most; those never told
 * are final when the task is done. */
int steelyard_final(steelyard_worker* worker, uint64_t begin, uint64_t end);

/* 1 if the task is still wanted, 0 if what becomes of it does not matter: go to steelyard_next(). Call it
 * after each micro-batch: it is a sign of life, too. */
int steelyard_wanted(steelyard_worker* worker);

/* The task is done: sums over its samples of the loss (not weighted), and of right answers. */
int steelyard_done(steelyard_worker* worker, double loss, uint64_t correct);

/* Leaves the job; what is owed is computed by others. `failure`: why, if another would fail the same way;
 * NULL or empty: no failure. Does not wait; steelyard_next() gives the END. */
void steelyard_leave(steelyard_worker* worker, const char* failure);

/* Leaves, if that is not done yet, waits for its threads, and frees all of it. NULL is allowed. */
void steelyard_free(steelyard_worker* worker);

/* ---- policies alone */

typedef struct steelyard_policy steelyard_policy;

/* A policy by name. One thread calls it. `setup` is a JSON object:
 *
 *   workers         a list of objects, one for each worker: {"name", "kind", "max_batch"}; each of these may
 *                   be left out. kind: "cpu" (the default) or "gpu"; max_batch: most samples of a round
 *   policy          "steelyard" (the default), "lb-bsp", ..: `steelyard help policy` lists them
 *   options         what the policy is told: {"key": value}; left out: all as the help says
 *   grain           shares are whole numbers of so many samples; left out: 1 */
steelyard_policy* steelyard_policy_new(const char* setup);
/* Shares of the next round, one for each worker in the order of the list, that sum to `batch`. A share is 0
 * only if there are fewer grains than workers; the last that is not may end in a part of a grain. */
int steelyard_policy_plan(steelyard_policy* policy, uint64_t batch, uint64_t* shares);
/* What a round by the last plan took: seconds of computing, one for each worker, without waiting for others;
 * negative: unknown. A plan may be used, and told, for several rounds. */
int steelyard_policy_observe(steelyard_policy* policy, const double* seconds);
/* NULL is allowed. */
void steelyard_policy_free(steelyard_policy* policy);

#ifdef __cplusplus
}
#endif
