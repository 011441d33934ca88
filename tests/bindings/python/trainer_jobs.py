"""Trainings by trainers, for test_pypi_lightning.py, test_pypi_transformers.py and test_pypi_accelerate.py: the process
of one worker, or of the trainer without steelyard. Each process writes its results to files in its folder."""
import dataclasses
import json
import os
import pathlib
import signal
import time

import cluster_jobs
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy


@dataclasses.dataclass
class Given:
    """`kill_at`: worker-1 ends itself with SIGKILL in this batch."""

    kind: str
    plain: bool = False
    epochs: int = 3
    resume: str = ''
    kill_at: int = -1


def worker():
    return os.environ.get('STEELYARD_NAME', 'worker-0')


def train(given, environment, folder):
    """The process."""
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    cluster_jobs.be_worker(environment, f'{folder}/{environment.get("STEELYARD_NAME", "alone")}.log')
    KINDS[given.kind](given)


class Killer:
    """Called in each batch. The first process of worker-1 ends itself in the batch --kill-at. The others wait until the
    process that replaces it is about to join, and are slow from then on."""

    def __init__(self, at):
        self.at, self.count = at, 0
        self.here, self.again = pathlib.Path('killed'), pathlib.Path('again')
        if at >= 0 and worker() == 'worker-1' and self.here.exists():  # the process that replaces it
            self.at = -1
            self.again.touch()

    def __call__(self):
        self.count += 1
        if self.at < 0 or self.count <= self.at:
            return
        if worker() == 'worker-1':
            self.here.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        while not self.again.exists():
            time.sleep(0.02)
        time.sleep(0.1)


def samples(count=190, features=10, seed=7):
    drawn = torch.Generator().manual_seed(seed)
    x = torch.randn(count, features, generator=drawn)
    return torch.utils.data.TensorDataset(x, (x[:, 0] * 3).long().clamp(0, 2))


def loader(data, batch=20):
    return torch.utils.data.DataLoader(data, batch_size=batch, shuffle=False)


def mlp(features=10, classes=3):
    return torch.nn.Sequential(torch.nn.Linear(features, 20), torch.nn.ReLU(), torch.nn.Linear(20, classes))


def begin_from(model, given):
    """Draws the first weights. Where the second worker is replaced, they differ: all workers get those of the job."""
    torch.manual_seed(2 if given.kill_at >= 0 and worker() == 'worker-1' else 1)
    with torch.no_grad():
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)


def save(model, **about):
    """Writes weights and what a test wants to know beside them."""
    torch.save(model.state_dict(), f'weights-{worker()}.pt')
    pathlib.Path(f'about-{worker()}.json').write_text(json.dumps(about))


# ---- Lightning


def train_lightning(given):
    import lightning.pytorch as pl
    from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
    from lightning.pytorch.loggers import CSVLogger

    kill = Killer(given.kill_at)

    class Classifier(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.save_hyperparameters({'wide': 20})
            self.net = mlp()

        def training_step(self, batch, number):
            kill()
            x, y = batch
            loss = cross_entropy(self.net(x), y)
            self.log('train_loss', loss)
            return loss

        def validation_step(self, batch, number):
            x, y = batch
            self.log('val_loss', cross_entropy(self.net(x), y))

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
            plan = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.7)
            return {'optimizer': optimizer, 'lr_scheduler': {'scheduler': plan, 'interval': 'epoch'}}

    class Gan(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.generator, self.critic = mlp(4, 10), mlp(10, 1)

        def training_step(self, batch, number):
            kill()
            x, _ = batch
            for_generator, for_critic = self.optimizers()
            fake = self.generator(x[:, :4])
            self.toggle_optimizer(for_critic)
            real_score, fake_score = self.critic(x), self.critic(fake.detach())
            loss = (binary_cross_entropy_with_logits(real_score, torch.ones_like(real_score))
                    + binary_cross_entropy_with_logits(fake_score, torch.zeros_like(fake_score)))
            for_critic.zero_grad()
            self.manual_backward(loss)
            for_critic.step()
            self.untoggle_optimizer(for_critic)
            self.toggle_optimizer(for_generator)
            score = self.critic(self.generator(x[:, :4]))
            for_generator.zero_grad()
            self.manual_backward(binary_cross_entropy_with_logits(score, torch.ones_like(score)))
            for_generator.step()
            self.untoggle_optimizer(for_generator)

        def configure_optimizers(self):
            return (torch.optim.Adam(self.generator.parameters(), lr=0.003),
                    torch.optim.SGD(self.critic.parameters(), lr=0.05, momentum=0.9))

    if not given.plain:
        import steelyard.lightning  # noqa: F401  # registers the strategy
    model = Gan() if given.kind == 'gan' else Classifier()
    begin_from(model, given)
    options = {'clip': {'gradient_clip_val': 0.1, 'accumulate_grad_batches': 2},
               'stop': {'callbacks': [EarlyStopping('val_loss', patience=1, min_delta=0.05)]}}.get(given.kind, {})
    if given.kind != 'stop':
        options['callbacks'] = [ModelCheckpoint(dirpath='checkpoints', save_last=True, monitor=None, save_top_k=-1)]
    trainer = pl.Trainer(max_epochs=given.epochs, accelerator='cpu', logger=CSVLogger('.', 'csv', 'one'),
                         strategy='auto' if given.plain else 'steelyard', enable_progress_bar=False,
                         log_every_n_steps=1, enable_model_summary=False, **options)
    valid = None if given.kind == 'gan' else loader(samples(60, seed=8))
    trainer.fit(model, loader(samples()), valid, ckpt_path=given.resume or None)
    save(model, zero=trainer.is_global_zero, epoch=trainer.current_epoch, step=trainer.global_step, steps=kill.count,
         rate=trainer.optimizers[0].param_groups[0]['lr'])


# ---- transformers


class Sentences(torch.utils.data.Dataset):
    """Sentences for a language model; with `masked`, an unequal number of their tokens has labels."""

    def __init__(self, count=70, masked=False, seed=7):
        drawn = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(0, 30, (count, 12), generator=drawn)
        share = torch.linspace(0.1, 0.9, count)[torch.randperm(count, generator=drawn)]
        left = torch.rand(count, 12, generator=drawn) < share[:, None]
        self.labels = torch.where(left, self.tokens, -100) if masked else self.tokens

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, number):
        return {'input_ids': self.tokens[number], 'labels': self.labels[number]}


def language_model(kind):
    from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel
    if kind == 'bert':
        config = BertConfig(vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                            intermediate_size=32, max_position_embeddings=16, hidden_dropout_prob=0,
                            attention_probs_dropout_prob=0)
        return BertForMaskedLM(config)
    return GPT2LMHeadModel(GPT2Config(vocab_size=30, n_positions=16, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0,
                                      embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0))


def train_transformers(given):
    from transformers import EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments

    kill = Killer(given.kill_at)

    class Steps(TrainerCallback):
        def on_step_begin(self, args, state, control, **more):
            kill()

    model = language_model('bert' if given.kind == 'bert' else 'gpt2')
    begin_from(model, given)
    options = {'accumulated': {'gradient_accumulation_steps': 3}, 'bf16': {'bf16': True}}.get(given.kind, {})
    callbacks = [Steps()]
    if given.kind == 'patience':
        options |= {'load_best_model_at_end': True, 'metric_for_best_model': 'loss', 'greater_is_better': False,
                    'learning_rate': 0.5}
        callbacks.append(EarlyStoppingCallback(1))
    arguments = TrainingArguments('out', per_device_train_batch_size=8, num_train_epochs=given.epochs,
                                  **{'learning_rate': 0.01, **options}, adam_epsilon=1e-3, max_grad_norm=0.5,
                                  lr_scheduler_type='linear',
                                  train_sampling_strategy='sequential', logging_steps=1, eval_strategy='epoch',
                                  save_strategy='epoch', report_to='none', use_cpu=True, disable_tqdm=True)
    kind = Trainer
    if not given.plain:
        from steelyard.transformers import SteelyardTrainer as kind
    masked = given.kind in ('bert', 'accumulated')
    trainer = kind(model, arguments, train_dataset=Sentences(masked=masked),
                   eval_dataset=Sentences(20, masked, seed=8), callbacks=callbacks)
    trainer.train(resume_from_checkpoint=given.resume or None)
    save(model, zero=trainer.is_world_process_zero(), step=trainer.state.global_step, epoch=trainer.state.epoch,
         steps=kill.count, logs=len(trainer.state.log_history))


# ---- Accelerate


def train_accelerate(given):
    from accelerate import Accelerator
    options = {}
    if not given.plain:
        from steelyard.accelerate import Accelerator
        options['epochs'] = given.epochs
    kill = Killer(given.kill_at)
    model = mlp()
    begin_from(model, given)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.003)
    plan = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True, **options)
    model, optimizer, train, test, plan = accelerator.prepare(model, optimizer, loader(samples()),
                                                              loader(samples(60, seed=8)), plan)
    first = 0
    if given.resume:
        accelerator.load_state(given.resume)
        first = int(pathlib.Path(given.resume, 'epochs').read_text())
        train = accelerator.skip_first_batches(train, first * len(train)) if not given.plain else train
    for epoch in range(first, given.epochs):
        for x, y in train:
            kill()
            with accelerator.accumulate(model):
                accelerator.backward(cross_entropy(model(x), y))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 0.3)
                optimizer.step()
                plan.step()
                optimizer.zero_grad()
        right = 0
        for x, y in test:
            with torch.no_grad():
                right += int(accelerator.gather_for_metrics((model(x).argmax(1) == y).sum()))
        accelerator.save_state(f'state-{epoch}')
        if accelerator.is_main_process:
            pathlib.Path(f'state-{epoch}', 'epochs').write_text(str(epoch + 1))
    accelerator.end_training()
    save(accelerator.unwrap_model(model), zero=accelerator.is_main_process, steps=kill.count, right=right,
         rate=optimizer.param_groups[0]['lr'])


KINDS = {'lightning': train_lightning, 'gan': train_lightning, 'clip': train_lightning, 'stop': train_lightning,
         'gpt2': train_transformers, 'bert': train_transformers, 'accumulated': train_transformers,
         'bf16': train_transformers,
         'patience': train_transformers, 'accelerate': train_accelerate}

