"""A strategy of Lightning: steelyard trains a LightningModule on machines of unequal speed.

    import steelyard.lightning
    trainer = Trainer(strategy='steelyard', max_epochs=10)       # or strategy=SteelyardStrategy(...)
    trainer.fit(model, DataLoader(train_set, batch_size=512, shuffle=True), val_loader)

batch_size is that of the global batch, over all workers. Every worker takes every optimizer step and
validates on all validation data, so metrics of validation are equal on all workers. Metrics of training are those of
this worker's share: let callbacks and schedulers monitor metrics of validation. One worker writes logs and
checkpoints; trainer.is_global_zero is True there.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

import lightning.pytorch as pl
from lightning.fabric.utilities.rank_zero import rank_zero_only
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.strategies import SingleDeviceStrategy, StrategyRegistry
from lightning.pytorch.trainer.states import TrainerFn

import steelyard.torch
from steelyard import _cluster
from steelyard._errors import refuse
from steelyard._torch_trainer import Batches, Progress


class SteelyardStrategy(SingleDeviceStrategy):
    """`backwards`: how often training_step() calls manual_backward(), if it optimizes manually; default: once
    for each optimizer. `options`: seed, name, job, resume, run_dir, verbose and keys of a job, as for
    steelyard.torch.loader(), where backwards is explained, too."""

    strategy_name = 'steelyard'

    def __init__(
        self,
        backwards: Optional[int] = None,
        accelerator: Any = None,
        checkpoint_io: Any = None,
        precision_plugin: Any = None,
        **options: Any,
    ) -> None:
        device = steelyard.torch.device()
        super().__init__(device, accelerator, checkpoint_io, precision_plugin)
        self._backwards, self._options = backwards, options
        self._batches: Optional[Batches] = None
        self._loops: Mapping[str, Any] = {}  # the progress of the checkpoint that was loaded
        if _cluster.endpoint_is_given():
            self._set_rank(1)  # until it is known which worker logs

    @property
    def is_global_zero(self) -> bool:
        return self.global_rank == 0

    def setup(self, trainer: pl.Trainer) -> None:
        super().setup(trainer)
        if trainer.state.fn == TrainerFn.FITTING:
            trainer.fit_loop.setup_data()  # calls process_dataloader()
            if self._batches is not None:
                self._join(trainer, self._batches)

    def process_dataloader(self, dataloader: Any) -> Any:
        module: Any = self.lightning_module
        if not module.trainer.training:
            return dataloader
        if self._batches is not None and not self._batches.over:
            raise refuse(
                'fit() has several DataLoaders for training, or reload_dataloaders_every_n_epochs: give it '
                'one, whose data set yields what a training step needs'
            )
        self._batches = Batches(dataloader)
        return self._batches

    def load_checkpoint(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        checkpoint = super().load_checkpoint(*arguments, **options)
        self._loops = checkpoint.get('loops', {}).get('fit_loop', {})
        return checkpoint

    def on_train_start(self) -> None:
        self._loops = {}

    def on_train_end(self) -> None:
        if self._batches is not None:
            self._batches.end()

    # ---- the job

    def _join(self, trainer: pl.Trainer, batches: Batches) -> None:
        model: Any = self.lightning_module
        epochs = trainer.max_epochs
        batches.rounds = int(trainer.num_training_batches)
        batches.start = self._batches_done(batches.rounds)
        left = None if epochs in (None, -1) else epochs * batches.rounds - batches.start
        if left == 0 or batches.rounds == 0:
            return
        automatic = model.automatic_optimization
        backwards = 1 if automatic else self._backwards or len(self.optimizers)
        job = batches.join(model, left, backwards, **self._options)
        job.steps.keep({f'optimizer{number}': it for number, it in enumerate(self.optimizers)})
        job.steps.keep(
            {f'scheduler{number}': it.scheduler for number, it in enumerate(self.lr_scheduler_configs)}
        )
        if self.precision_plugin.state_dict():
            job.steps.keep({'precision': self.precision_plugin})
        if not automatic or trainer.accumulate_grad_batches > 1:
            job.accumulates()
        progress = Progress(lambda: _progress(trainer), lambda state: _put_progress(trainer, state))
        job.steps.keep({'progress': progress})
        self._set_rank(int(job.about['slot']))

    def _batches_done(self, rounds: int) -> int:
        """Batches before the checkpoint, over all epochs."""
        if not self._loops:
            return 0
        epoch = self._loops['epoch_progress']['current']
        batch = self._loops['epoch_loop.batch_progress']['current']
        within = batch['ready'] if epoch['ready'] > epoch['processed'] else 0
        return int(epoch['processed'] * rounds + within)

    def _set_rank(self, rank: int) -> None:
        self.global_rank = rank
        setattr(rank_zero_only, 'rank', rank)


def _with_state(trainer: pl.Trainer) -> list[Callback]:
    callbacks: list[Callback] = getattr(trainer, 'callbacks')
    return [it for it in callbacks if it.state_dict()]


def _progress(trainer: pl.Trainer) -> dict[str, Any]:
    """The counters of the loops, and the state of the callbacks."""
    callbacks = {it.state_key: it.state_dict() for it in _with_state(trainer)}
    return {'loops': trainer.fit_loop.state_dict(), 'callbacks': callbacks}


def _put_progress(trainer: pl.Trainer, state: dict[str, Any]) -> None:
    """Called while the trainer fetches a batch. The state was taken at the same place, or within a batch,
    which then begins again here."""
    loop = trainer.fit_loop
    loop.load_state_dict(state['loops'])
    batches = loop.epoch_loop.batch_progress
    counts: list[Any] = [batches.current, batches.total]
    for count in counts:
        count.ready = count.started = count.processed = count.completed
    loops: list[Any] = [loop, loop.epoch_loop, loop.epoch_loop.val_loop]
    for one in loops:
        one.on_iteration_done()  # they go on, and do not restart
    fetcher: Any = loop._data_fetcher
    fetcher.fetched = loop.epoch_loop.batch_progress.current.ready
    for callback in _with_state(trainer):
        if callback.state_key in state['callbacks']:
            callback.load_state_dict(state['callbacks'][callback.state_key])


StrategyRegistry.register(
    SteelyardStrategy.strategy_name, SteelyardStrategy, description='workers of unequal speed, by steelyard'
)
