"""Training steps of the networks of bench/gpu/steps.cpp in PyTorch, on the same GPU, in the same precision.

    torch_steps.py [--seconds 600] [--first]

A round is the same as in steelyard_gpu_check: eight micro-batches from pinned memory, copied on a separate stream while
the previous one is computed, with summed gradients. In addition it has an update by fused SGD. Batch norm takes its
statistics from whole micro-batches; Steelyard takes them from 32 samples. bf16 is autocast, which keeps activations in
bf16 too.

Each network runs eager, in both layouts if it has convolutions. The faster layout is captured as a CUDA graph. Until
--seconds have passed, torch.compile makes another one. With --first only CUDA graphs of the most telling steps: 256
samples, tf32 and bf16, in both layouts. Prints one line each: name, setting, samples per second (or the
reason why it was not measured).
"""
import argparse
import contextlib
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'peers'))
try:
    import torch
    from material import draw
    from models import PEERS
except ImportError as missing:
    sys.exit(f'torch_steps: {missing}')

MODELS = 'resnet18', 'resnet20', 'vit', 'transformer', 'gpt', 'lenet5', 'mlp'
SAMPLES, PRECISIONS = (256, 1024), ('float32', 'tf32', 'bf16')
MICRO_BATCHES = 8


class Step:
    """One network on a device, with the buffers of a round."""

    def __init__(self, name, samples, precision, layout, device, compiled=False):
        torch.manual_seed(1)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != 'float32'
        self.peer, self.bf16, self.device = PEERS[name], precision == 'bf16', torch.device(device)
        order = torch.channels_last if layout == 'nhwc' else torch.contiguous_format
        host, labels = draw(self.peer, samples, 1)
        host = host if self.peer.tokens else host.contiguous(memory_format=order)
        self.host = [it.pin_memory() if self.device.type == 'cuda' else it for it in (host, labels)]
        self.arriving = [[it.to(self.device) for it in self.host] for _ in range(2)]
        self.batch = [it.to(self.device) for it in self.host]
        self.model = self.peer.make().to(self.device, memory_format=order).train()
        self.forward = torch.compile(self.model, dynamic=False) if compiled else self.model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
        for it in self.model.parameters():
            it.grad = torch.zeros_like(it)
        self.run = self.passes

    def passes(self):
        """Adds the gradient of the micro-batch."""
        cast = torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False) if self.bf16 else \
            contextlib.nullcontext()
        with cast:
            loss = self.peer.mean_loss(self.forward(self.batch[0]), self.batch[1])
        loss.backward()

    def capture(self):
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self.passes()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.passes()
        self.run = graph.replay

    def round(self, upload):
        """Computes a round. Micro-batches alternate between two buffers."""
        main, taken = torch.cuda.current_stream(), [None, None]
        self.optimizer.zero_grad(set_to_none=False)
        for turn in range(MICRO_BATCHES):
            place = turn % 2
            with torch.cuda.stream(upload):
                if taken[place]:
                    upload.wait_event(taken[place])
                for to, origin in zip(self.arriving[place], self.host):
                    to.copy_(origin, non_blocking=True)
            main.wait_stream(upload)
            for to, origin in zip(self.batch, self.arriving[place]):
                to.copy_(origin)
            taken[place] = main.record_event()
            self.run()
        self.optimizer.step()

    def rate(self, at_least=1.0):
        """Returns samples per second of the median round."""
        upload = torch.cuda.Stream()
        for _ in range(3):
            self.round(upload)
        torch.cuda.synchronize()
        taken = []
        while len(taken) < 5 or sum(taken) < at_least:
            begin = time.perf_counter()
            self.round(upload)
            torch.cuda.synchronize()
            taken.append(time.perf_counter() - begin)
        return MICRO_BATCHES * len(self.batch[1]) / statistics.median(taken)


def show(what, setting, rate):
    print(what, setting, rate if isinstance(rate, str) else f'{rate:.1f}', sep='\t', flush=True)
    return 0 if isinstance(rate, str) else rate


def measured(*about, captured=False, compiled=False):
    """Returns the rate, or the reason why it was not measured."""
    try:
        step = Step(*about, 'cuda', compiled)
        if captured:
            step.capture()
        return step.rate()
    except Exception as trouble:  # continue with the other settings
        words = str(trouble).strip().splitlines() or ['']
        return f'not measured ({type(trouble).__name__}: {words[0][:80]})'.replace('\t', ' ')
    finally:
        torch.cuda.empty_cache()


def layouts_of(name):
    convolutions = any(isinstance(module, torch.nn.Conv2d) for module in PEERS[name].make().modules())
    return ['nchw', 'nhwc'] if convolutions else ['nchw']


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--seconds', type=float, default=600, help='limit for torch.compile')
    options.add_argument('--first', action='store_true', help='only the most telling steps')
    it = options.parse_args()
    if not torch.cuda.is_available():
        sys.exit('torch_steps: PyTorch finds no CUDA device')
    end, best = time.monotonic() + it.seconds, {}
    every = [(name, samples, precision) for precision in PRECISIONS for name in MODELS for samples in SAMPLES]
    if it.first:
        for about in [(name, 256, precision) for precision in ('tf32', 'bf16') for name in MODELS]:
            for layout in layouts_of(about[0]):
                show('step {}, {}, {}'.format(*about), f'graph {layout}', measured(*about, layout, captured=True))
        return
    for about in every:
        what, layouts = 'step {}, {}, {}'.format(*about), layouts_of(about[0])
        best[about] = max(layouts, key=lambda layout: show(what, f'eager {layout}', measured(*about, layout)))
        show(what, f'graph {best[about]}', measured(*about, best[about], captured=True))
    for about in every:
        what, setting = 'step {}, {}, {}'.format(*about), f'compiled graph {best[about]}'
        late = time.monotonic() > end
        show(what, setting, f'not measured (the limit of {it.seconds:.0f} s was reached)' if late else
             measured(*about, best[about], captured=True, compiled=True))


if __name__ == '__main__':
    main()
