/* The C interface: a worker that computes gradients with your own code, in any language; and the balancing
 * policies alone, for your own training loop.
 *
 * A worker joins a job as `steelyard worker` does. Background threads exchange messages with the scheduler
 * and the servers. The caller requests a task, computes it, and marks ranges of the gradient as final, so
 * that they are sent while the rest is computed:
 *
 *   steelyard_worker* worker = steelyard_join(description, weights);
 *   for (steelyard_task task; steelyard_next(worker, 0.2, &task) == 0 && task.kind != STEELYARD_END;) {
 *     if (task.kind == STEELYARD_WAIT) continue;       // no task yet; check for Ctrl-C here
 *     ... compute the samples from task.parameters; in training, write task.gradient ...
 *     steelyard_done(worker, loss, correct);
 *   }
 *   steelyard_free(worker);
 *
 * Parameters and gradients are 32-bit floats in one flat buffer that holds the tensors in the order of the
 * description, each row-major. A gradient is the sum over the samples of the task, each times its weight.
 *
 * Errors: functions that return int return 0, or on failure an exit code (steelyard/failure.h). Functions
 * that return a pointer return NULL on failure. steelyard_error() then returns the cause and the remedy.
 *
 * Threads: one thread calls the functions of a worker, but any thread may call steelyard_final(),
 * steelyard_leave(), steelyard_lose_state(), steelyard_stop() and steelyard_wanted(). There are no callbacks.
 * After a fork, only the parent process may use the worker.
 *
 * Stability: all declarations here keep their meaning as long as STEELYARD_API stays the same.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STEELYARD_API 2

/* The STEELYARD_API that the loaded library was built with. */
int steelyard_api(void);
/* The version of the loaded library, "0.1.0". */
const char* steelyard_version(void);
/* The error of this thread's last call as text, or "". Valid until this thread's next call. */
const char* steelyard_error(void);

/* ---- a worker */

typedef struct steelyard_worker steelyard_worker;

/* Starts to join a job and returns at once; steelyard_next() reports progress. `description` is a JSON
 * object. Keys with a default may be omitted:
 *
 *   scheduler       its address: "host:7070", "ipc:///path"
 *   name            of this worker, for users; default: host and process id
 *   kind            "cpu" or "gpu"; default "cpu"
 *   simulate_slowdown
 *                   factor by which computing is slowed down, to simulate unequal machines ("2"; syntax as
 *                   in a job file); default "1"
 *   exchange        "auto" (shared memory where possible) or "sockets"; default "auto"
 *   keys            a directory of keys (`steelyard keys`), or a key file; default: no encryption
 *   wait            timeout for messages of the scheduler, in seconds; default 60
 *   trace           a directory for trace files (see `steelyard trace`); default: no trace
 *   quiet           print nothing to standard error; default false
 *   job             the text of a job file (TOML), used if the scheduler was started without one and this
 *                   is the first worker
 *   tensors         a list, in the order of the flat buffer: {"name", "shape", "rule", "decay", "rate"}.
 *                   rule: "step" (optimizer step; the default) or "mean" (workers push the change of the
 *                   tensor, and servers add the mean of the changes). decay, rate: factors on the job's
 *                   weight decay and learning rate, default 1
 *   data            name of the data, for users
 *   data_hash       a hash of the data, stored in checkpoints; default: none
 *   train_samples   number of training samples
 *   test_samples    number of test samples; default 0
 *   grain           shares of a round are multiples of this number of samples; default 1
 *
 * The defaults of name, simulate_slowdown, exchange, keys and trace can be set by environment variables:
 * STEELYARD_NAME and so on.
 *
 * `weights`: the initial parameters, used if this is the first worker of the job. Copied. */
steelyard_worker* steelyard_join(const char* description, const float* weights);

enum {
  STEELYARD_WAIT = 0,     /* no task within `seconds` */
  STEELYARD_JOINED = 1,   /* once: the scheduler has admitted this worker; see steelyard_job() */
  STEELYARD_TRAIN = 2,    /* compute the gradient of these training samples, then call steelyard_done() */
  STEELYARD_EVALUATE = 3, /* compute the loss of these test samples, then call steelyard_done() */
  STEELYARD_END = 4,      /* the job has ended, or this worker has left it; later calls also return END */
  /* Only in jobs with optimizer = "worker" in [train], in which this program takes the optimizer steps; see
   * below. Each ends with steelyard_done(). */
  STEELYARD_STEP = 5,        /* take the step of this version */
  STEELYARD_WRITE_STATE = 6, /* write the state after this version to the file `path` */
  STEELYARD_READ_STATE = 7   /* replace the state by that in the file `path` */
};

typedef struct steelyard_task {
  int32_t kind;
  int32_t code;            /* END: the exit code; 0: success */
  const float* parameters; /* TRAIN, EVALUATE: the version to compute with. END: the last version, or NULL */
  float* gradient;         /* TRAIN: output buffer, uninitialised; write all of it */
  const uint64_t* samples; /* sample numbers, in order */
  uint64_t count;          /* number of samples */
  uint64_t epoch;          /* from 0. END with parameters: where training would go on, in rounds of `batch` */
  uint64_t position;       /* of the first sample, in the order of this epoch */
  int32_t main;            /* END: 1 for the one worker that should save the results, otherwise 0 */
  uint64_t version;        /* STEP, WRITE_STATE, READ_STATE: the number of steps, that one included */
  const char* path;        /* WRITE_STATE, READ_STATE: a file of this machine; otherwise NULL */
} steelyard_task;

/* Jobs with optimizer = "worker": servers only average, and every worker keeps its own copy of the model and
 * takes every step on it.
 *
 *   STEP         version 0 comes first: `parameters` are the initial parameters of the job. Then each version
 *                comes once, in order: `parameters` has the mean gradient over all samples of a round, and
 *                the mean of what workers pushed for tensors with the rule "mean": for these, push values,
 *                not differences.
 *   TRAIN        compute with the own copy after the latest step; `parameters` is meaningless. Likewise for
 *                EVALUATE and END.
 *   WRITE_STATE  write the whole state to `path`: model, optimizer, and all else that a new worker needs. It
 *                becomes part of a checkpoint, or another worker reads it.
 *   READ_STATE   this worker joined late, or the job was resumed. STEP of the next version follows.
 *
 * The job ends after the STEP of its last version. */

/* Waits up to `seconds` for a task or a change of state. If the previous task is not done, it is abandoned.
 * Pointers in a task are valid until the task is done or abandoned; those of END, until steelyard_free().
 * The memory of `gradient` belongs to one of a few buffers, which stay allocated until steelyard_free(): it
 * may be registered with a device by its address.
 * After END, steelyard_error() returns the reason as text for users; empty if the job is complete. */
int steelyard_next(steelyard_worker* worker, double seconds, steelyard_task* task);

/* After STEELYARD_JOINED: a JSON object with the job's name, seed, batch, epochs, rounds, train_samples,
 * test_samples, grain, workers, clip_norm and policy; "synchronous": whether each round is one step from the
 * parameters that the round before it left; the name of this worker as "worker", and its slot: 0 for the
 * first worker that joined, and for a process that replaces it under its name. Valid until
 * steelyard_free(). */
const char* steelyard_job(steelyard_worker* worker);

/* Writes the numbers of the training samples at positions [begin, end) of an epoch to `into`, which has room
 * for end - begin. For prefetching. Call after STEELYARD_JOINED. */
int steelyard_samples(steelyard_worker* worker, uint64_t epoch, uint64_t begin, uint64_t end, uint64_t* into);

/* Sets the total weight of this task's gradient and loss; default: its number of samples. Call before the
 * first steelyard_final() of the task. */
int steelyard_weigh(steelyard_worker* worker, double weight);

/* Marks elements [begin, end) of the gradient as final: the caller must not change them any more. Mark each
 * element at most once. All others are final when the task is done. */
int steelyard_final(steelyard_worker* worker, uint64_t begin, uint64_t end);

/* Returns 1 if the task is still wanted, 0 if it was cancelled: then call steelyard_next(). Call it after
 * each micro-batch: each call also counts as progress, and a worker without progress loses its pieces. */
int steelyard_wanted(steelyard_worker* worker);

/* The number of correct answers if the caller does not count them, as where there is only a loss. */
#define STEELYARD_UNCOUNTED UINT64_MAX

/* Finishes the task. `loss` and `correct` are sums over its samples: of the loss, each times its weight if
 * steelyard_weigh() was called, and of correct answers, or STEELYARD_UNCOUNTED: no accuracy is then shown or
 * recorded. The loss of a round is the sum of all losses divided by the sum of all weights. */
int steelyard_done(steelyard_worker* worker, double loss, uint64_t correct);

/* In a job with optimizer = "worker": discards this worker's state, for example because it differs from those
 * of the others. READ_STATE follows, with the state of another worker. */
void steelyard_lose_state(steelyard_worker* worker);

/* Requests the end of the job for all workers, as a success; steelyard_next() returns END when it is reached.
 * The first request of a job counts. `now` = 0: after the current round, which is computed as usual. If it
 * is 1: at once; open rounds are dropped, and this worker may abandon its task. */
void steelyard_stop(steelyard_worker* worker, int now);

/* Leaves the job; other workers compute the pieces that this one owes. `failure`: the reason, if other
 * workers would fail in the same way; NULL or empty: no failure. Returns at once; steelyard_next() then
 * returns END. */
void steelyard_leave(steelyard_worker* worker, const char* failure);

/* Leaves the job if necessary, joins all threads and frees the worker. NULL is allowed. */
void steelyard_free(steelyard_worker* worker);

/* ---- policies alone */

typedef struct steelyard_policy steelyard_policy;

/* Makes a policy, to be used by one thread. `setup` is a JSON object:
 *
 *   workers         a list with one object for each worker: {"name", "kind", "max_batch", "may_rest"}, all
 *                   optional. kind: "cpu" (the default) or "gpu"; max_batch: the largest share in samples;
 *                   may_rest: true if the worker may get a share of 0 where rounds are faster without it.
 *                   The default is false: an all-reduce needs every worker in every round
 *   policy          "steelyard" (the default), "lb-bsp", ...; `steelyard help policy` lists them
 *   options         options of the policy: {"key": value}; the help lists names and defaults
 *   grain           shares are multiples of this number of samples; default 1
 *
 * Workers have numbers: 0, 1, ... in the order of the list, then of joining. Numbers of workers that left are
 * not used again. */
steelyard_policy* steelyard_policy_new(const char* setup);
/* Adds a worker to the following plans: `worker` is a JSON object as in the list above. Returns its number,
 * or -1 after an error. */
int64_t steelyard_policy_join(steelyard_policy* policy, const char* worker);
/* Removes a worker from the following plans. One must remain. */
int steelyard_policy_leave(steelyard_policy* policy, uint32_t worker);
/* Announces that the next plan begins a new epoch. Only policies that decide once per epoch need it (dlb). */
int steelyard_policy_epoch(steelyard_policy* policy);
/* Writes the shares of the next round in samples, one for each present worker in the order of their numbers;
 * they sum to `batch`. A share is 0 only if there are fewer grains than workers, or if the worker may rest.
 * All shares are multiples of the grain, except the last that is not 0, if `batch` is not a multiple. */
int steelyard_policy_plan(steelyard_policy* policy, uint64_t batch, uint64_t* shares);
/* Reports that a worker computed `samples` samples in `seconds`, without waiting for others: in the round of
 * the last plan. Then `cpu` and `memory_mb` describe its machine at present: the share of the processor that
 * other programs leave, 0 to 1, and the free memory in MB; negative: unknown. The next plan uses them. */
int steelyard_policy_sample(steelyard_policy* policy, uint32_t worker, uint64_t samples, double seconds,
                            double cpu, double memory_mb);
/* Reports a whole round that used the last plan: the compute time in seconds of each worker of that plan, in
 * its order; negative: unknown. May be called for several rounds of one plan. */
int steelyard_policy_observe(steelyard_policy* policy, const double* seconds);
/* Returns all that the policy has learned, with its workers, as text; valid until the next call with this
 * policy. NULL after an error. */
const char* steelyard_policy_save(steelyard_policy* policy);
/* Continues from a saved text: all later plans are those of the saved policy. `policy` must have been made
 * with the same policy, options and grain; its workers become the saved ones. After an error nothing has
 * changed. */
int steelyard_policy_restore(steelyard_policy* policy, const char* state);
/* NULL is allowed. */
void steelyard_policy_free(steelyard_policy* policy);

#ifdef __cplusplus
}
#endif
