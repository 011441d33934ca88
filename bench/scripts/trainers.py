"""Scripts with trainers: Lightning, Trainer of transformers, Accelerate; GPT-2 and BERT; LoRA of peft."""
import torch
from material import Tokens, bert, gpt2, mlp, points
from registry import BATCH, EPOCHS, script
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch.utils.data import DataLoader

LIGHTNING = {'imports': ('lightning.pytorch', 'steelyard.lightning')}
TRAINER = {'imports': ('transformers', 'steelyard.transformers')}
ACCELERATE = {'imports': ('transformers', 'steelyard.accelerate')}
AMPLIFIED = 'the biases of keys in attention have a gradient of 0 but for rounding, and the optimizer divides it by its size'


def lightning_trainer(plain, **options):
    """The trainer of both forms, without logs and checkpoints."""
    import lightning.pytorch as pl
    if not plain:
        import steelyard.lightning  # noqa: F401  # registers the strategy
    return pl.Trainer(strategy='auto' if plain else 'steelyard', accelerator='cpu', logger=False,
                      enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                      **{'max_epochs': EPOCHS, **options})


def lightning_classifier(eps=1e-8):
    import lightning.pytorch as pl

    class Classifier(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = mlp()

        def training_step(self, batch, number):
            x, y = batch
            return cross_entropy(self.net(x), y)

        def validation_step(self, batch, number):
            x, y = batch
            self.log('val_loss', cross_entropy(self.net(x), y))

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.02, eps=eps)
            return {'optimizer': optimizer, 'lr_scheduler': torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.8)}

    return Classifier()


@script('Lightning: AdamW, StepLR, EarlyStopping', 'Lightning', **LIGHTNING)
def early_stopping(plain):
    from lightning.pytorch.callbacks import EarlyStopping
    model = lightning_classifier()
    trainer = lightning_trainer(plain, max_epochs=20,
                                callbacks=[EarlyStopping('val_loss', patience=2, min_delta=0.01)])
    trainer.fit(model, DataLoader(points(), BATCH), DataLoader(points(60, seed=8), BATCH))
    assert trainer.current_epoch < 20, 'the training was not stopped early'
    return model


@script('Lightning: AdamW with `eps` 1e-4, accumulate_grad_batches=2, gradient_clip_val', 'Lightning', **LIGHTNING)
def lightning_accumulation(plain):
    model = lightning_classifier(eps=1e-4)
    lightning_trainer(plain, accumulate_grad_batches=2, gradient_clip_val=0.1).fit(model, DataLoader(points(), BATCH))
    return model


@script('Lightning: GAN with two optimizers, manual optimization', 'Lightning', **LIGHTNING)
def lightning_gan(plain):
    import lightning.pytorch as pl

    class Gan(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.generator, self.critic = mlp(4, 10), mlp(10, 1)

        def training_step(self, batch, number):
            x, _ = batch
            for_generator, for_critic = self.optimizers()
            real, false = self.critic(x), self.critic(self.generator(x[:, :4]).detach())
            for_critic.zero_grad()
            self.manual_backward(binary_cross_entropy_with_logits(real, torch.ones_like(real))
                                 + binary_cross_entropy_with_logits(false, torch.zeros_like(false)))
            for_critic.step()
            score = self.critic(self.generator(x[:, :4]))
            for_generator.zero_grad()
            self.manual_backward(binary_cross_entropy_with_logits(score, torch.ones_like(score)))
            for_generator.step()

        def configure_optimizers(self):
            return (torch.optim.Adam(self.generator.parameters(), lr=0.003),
                    torch.optim.SGD(self.critic.parameters(), lr=0.05, momentum=0.9))

    model = Gan()
    lightning_trainer(plain).fit(model, DataLoader(points(), BATCH))
    return model


# ---- transformers


def train(plain, model, data, loss=None, **options):
    """By the Trainer, with a larger eps of AdamW than usual: see AMPLIFIED."""
    from transformers import Trainer, TrainingArguments
    if not plain:
        from steelyard.transformers import SteelyardTrainer as Trainer
    parts = plain or 1
    arguments = TrainingArguments('out', per_device_train_batch_size=BATCH // parts, train_sampling_strategy='sequential',
                                  save_strategy='no', report_to='none', use_cpu=True, disable_tqdm=True,
                                  **{'num_train_epochs': EPOCHS, 'learning_rate': 0.005, 'adam_epsilon': 1e-4,
                                     'gradient_accumulation_steps': parts, **options})
    Trainer(model, arguments, train_dataset=data, compute_loss_func=loss).train()
    return model


@script('GPT-2, Trainer: AdamW with `eps` 1e-4, warmup, linear schedule, clipping', 'Trainer', **TRAINER)
def trainer_gpt2(plain):
    return train(plain, gpt2(), Tokens(), warmup_steps=4, max_grad_norm=0.5)


@script('GPT-2, Trainer: AdamW with `eps` 1e-8', 'Trainer', why=AMPLIFIED, **TRAINER)
def trainer_eps(plain):
    return train(plain, gpt2(), Tokens(), adam_epsilon=1e-8)


@script('BERT, Trainer: AdamW with `eps` 1e-4, texts with 1 to 9 masked words', 'Trainer', **TRAINER)
def trainer_bert(plain):
    return train(plain, bert(), Tokens(uneven=True), lr_scheduler_type='cosine')


ACCUMULATED = {'gradient_accumulation_steps': 3, 'num_train_epochs': 9}


@script('BERT, Trainer: AdamW with `eps` 1e-4, gradient_accumulation_steps=3, compute_loss_func', 'Trainer', **TRAINER)
def trainer_accumulation(plain):
    def loss(outputs, labels, num_items_in_batch):
        return cross_entropy(outputs.logits.flatten(0, 1), labels.flatten(), reduction='sum') / num_items_in_batch

    return train(plain, bert(), Tokens(uneven=True), loss, **ACCUMULATED)


@script('BERT, Trainer: the same without compute_loss_func', 'Trainer', limit=0.1, **TRAINER,
        why='`BertForMaskedLM` ignores `num_items_in_batch`, so transformers adds the means of the three batches; '
            '`SteelyardTrainer` takes the mean over all their tokens')
def trainer_added(plain):
    return train(plain, bert(), Tokens(uneven=True), **ACCUMULATED)


@script('GPT-2, Trainer: Adafactor', 'Trainer', why=AMPLIFIED, **TRAINER)
def trainer_adafactor(plain):
    return train(plain, gpt2(), Tokens(), optim='adafactor')


@script('GPT-2, Trainer: bf16=True', 'Trainer', why='sums of bfloat16 round to three digits', **TRAINER)
def trainer_bf16(plain):
    return train(plain, gpt2(), Tokens(), bf16=True)


@script('GPT-2, Trainer: LoRA of peft, AdamW with `eps` 1e-4', 'Trainer', imports=(*TRAINER['imports'], 'peft'))
def lora(plain):
    from peft import LoraConfig, get_peft_model
    config = LoraConfig(r=4, target_modules=['c_attn'], fan_in_fan_out=True, task_type='CAUSAL_LM')
    return train(plain, get_peft_model(gpt2(), config), Tokens(), learning_rate=0.02)


# ---- Accelerate


def accelerator(plain, **options):
    """Accelerate's own in the plain form."""
    from accelerate import Accelerator
    if not plain:
        from steelyard.accelerate import Accelerator
        options['epochs'] = EPOCHS
    return Accelerator(cpu=True, **options)


@script('GPT-2, Accelerate: AdamW with `eps` 1e-4, ExponentialLR, clipping', 'Accelerate', **ACCELERATE)
def accelerate_gpt2(plain):
    its, model = accelerator(plain), gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005, eps=1e-4)
    model, optimizer, loader, schedule = its.prepare(
        model, optimizer, DataLoader(Tokens(), BATCH), torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.97))
    for epoch in range(EPOCHS):
        for batch in loader:
            its.backward(model(**batch).loss)
            its.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    its.end_training()
    return its.unwrap_model(model)


@script('BERT, Accelerate: gradient_accumulation_steps=2, SGD, three masked words in each text', 'Accelerate',
        **ACCELERATE)
def accelerate_bert(plain):
    its, model = accelerator(plain, gradient_accumulation_steps=2), bert()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model, optimizer, loader = its.prepare(model, optimizer, DataLoader(Tokens(masked=True), BATCH))
    for epoch in range(EPOCHS):
        for batch in loader:
            with its.accumulate(model):
                its.backward(model(**batch).loss)
                optimizer.step()
                optimizer.zero_grad()
    its.end_training()
    return its.unwrap_model(model)
