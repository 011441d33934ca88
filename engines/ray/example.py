"""Trains on the unequal nodes of a Ray cluster: on the head node, with Ray installed there,

    python example.py                                   # or: ray job submit --working-dir . -- python example.py

The model is NumPy's, so that the example needs nothing else. With PyTorch, `train` is the loop of docs/python.md.
"""
import numpy


def train():
    """Runs in every worker: joins the job, and computes gradients of the worker's share of each batch."""
    from steelyard.arrays import join

    drawn = numpy.random.default_rng(1)
    x = drawn.normal(size=(8192, 20)).astype('float32')
    y = (x @ drawn.normal(size=(20, 3))).argmax(1)  # three classes that can be learned
    job = join(numpy.zeros((20, 3), 'float32'), (x, y), batch=256, micro_batch=32, epochs=5,
               optimizer={'name': 'momentum', 'lr': 0.1, 'momentum': 0.9})
    for w, (x, y, weights) in job:
        powers = numpy.exp(x @ w)
        shares = powers / powers.sum(1, keepdims=True)
        loss = (weights * -numpy.log(shares[numpy.arange(len(y)), y])).mean()
        job.push(loss, x.T @ (weights[:, None] * (shares - numpy.eye(3)[y])) / len(y))


if __name__ == '__main__':
    import steelyard.ray

    result = steelyard.ray.run(train, workers=[{'CPU': 1}, {'CPU': 2}])
    if result.error:
        raise result.error
    print(f'loss {result.history[0]["loss"]:.3f} to {result.history[-1]["loss"]:.3f} in {result.metrics["rounds"]} '
          f'rounds; the model is in {result.checkpoint}')
