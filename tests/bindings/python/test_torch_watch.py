"""A script that changes what the job has taken over is refused, by name and with a remedy."""
from torch_case import TorchCase, mean_loss, mlp, samples, torch
import standin
from steelyard import Failure


class Watched(TorchCase):
    def refused(self, text, after=None, before=None, optimizer=None, model=None, rounds=0, **options):
        """Calls before(model, optimizer) or after(model, optimizer) around job.backward() once `rounds` are done."""
        model = model or mlp()
        optimizer = (optimizer or (lambda m: torch.optim.SGD(m.parameters(), lr=0.1)))(model)
        cluster = standin.Cluster()
        job = self.join(cluster, model, optimizer, samples(), **options)
        with self.assertRaisesRegex(Failure, text):
            for x, y in job:
                loss = mean_loss(model, x, y)
                if before and cluster.number >= rounds:
                    before(model, optimizer)
                job.backward(loss)
                if after and cluster.number >= rounds:
                    after(model, optimizer)
        self.assertEqual(len(cluster.pieces), rounds)


class Gradients(Watched):
    def test_clipping_in_the_loop(self):
        clip = torch.nn.utils.clip_grad_norm_
        for size in (8, 32):
            self.refused('clip_norm=', lambda m, o: clip(m.parameters(), 0.1), micro_batch=size)

    def test_a_gradient_that_is_scaled_or_replaced(self):
        def replaced(m, o):
            m[0].bias.grad = torch.ones(20)
        self.refused('the gradient of 2.bias', lambda m, o: m[2].bias.grad.mul_(0.5))
        self.refused('the gradient of 0.bias', replaced)

    def test_a_gradient_from_elsewhere(self):
        def given(m, o):
            m[0].bias.grad = torch.ones(20)
        self.refused('before job.backward', before=given)


class Parameters(Watched):
    def test_the_message_names_the_causes(self):
        def clamped(m, o):
            with torch.no_grad():
                m[0].weight.clamp_(-0.01, 0.01)
        self.refused(r'0.weight was changed in the loop, as opt.step\(\), clamp_\(\) and copy_\(\)', clamped)

    def test_freezing(self):
        self.refused('2.weight was frozen in the loop', lambda m, o: m[2].requires_grad_(False), rounds=2)

    def test_unfreezing(self):
        model = mlp()
        model[0].requires_grad_(False)
        self.refused('0.weight was unfrozen', lambda m, o: m[0].requires_grad_(True), model=model, rounds=1)

    def test_a_frozen_layer_stays_as_it_is(self):
        model = mlp()
        model[0].requires_grad_(False)
        before = model[0].weight.clone()
        self.train(standin.Cluster(), model, torch.optim.SGD(model.parameters(), lr=0.1), samples())
        self.assertTrue(torch.equal(before, model[0].weight))


class Options(Watched):
    def test_a_rate(self):
        def lower(m, o):
            o.param_groups[0]['lr'] *= 0.5
        self.refused('lr of group 0 .* schedule=', lower, rounds=1)

    def test_a_scheduler_that_is_stepped(self):
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        self.refused('schedule.step', lambda m, o: scheduler.step(), optimizer=lambda m: optimizer, model=model,
                     schedule=scheduler)

    def test_momentum_and_decay(self):
        def change(**options):
            return lambda m, o: o.param_groups[0].update(options)
        self.refused('weight_decay', change(weight_decay=0.1))
        self.refused('momentum', change(momentum=0.9))

    def test_another_group(self):
        model = mlp()
        self.refused('1 groups .* 2 now', lambda m, o: o.add_param_group({'params': m[0].parameters()}),
                     optimizer=lambda m: torch.optim.SGD(m[2].parameters(), lr=0.1), model=model)
