"""Options that servers do not support are refused by name, with a remedy."""
from torch_case import TorchCase, mlp, samples, torch
import standin
from steelyard import Failure

nn, schedules = torch.nn, torch.optim.lr_scheduler


class Refused(TorchCase):
    def refuse(self, text, model=None, optimizer=None, data=None, schedule=None, **options):
        model = model or mlp()
        optimizer = (optimizer or (lambda m: torch.optim.SGD(m.parameters(), lr=0.1)))(model)
        more = {'schedule': schedule(optimizer)} if schedule else {}
        with self.assertRaisesRegex(Failure, text) as caught:
            self.join(standin.Cluster(), model, optimizer, samples() if data is None else data, **more, **options)
        self.assertEqual(caught.exception.code, 78)


class Optimizers(Refused):
    def test_options(self):
        adam, sgd = torch.optim.Adam, torch.optim.SGD
        self.refuse('amsgrad', optimizer=lambda m: adam(m.parameters(), amsgrad=True))
        self.refuse('dampening', optimizer=lambda m: sgd(m.parameters(), lr=0.1, momentum=0.9, dampening=0.1))
        self.refuse('maximize', optimizer=lambda m: sgd(m.parameters(), lr=0.1, maximize=True))
        self.refuse('above 0', optimizer=lambda m: sgd(m.parameters(), lr=0.0))

    def test_classes(self):
        class Own(torch.optim.SGD):
            pass
        self.refuse('RMSprop', optimizer=lambda m: torch.optim.RMSprop(m.parameters()))
        self.refuse('Own', optimizer=lambda m: Own(m.parameters(), lr=0.1))

    def test_groups_that_differ_in_other_options(self):
        def groups(m, **other):
            return [{'params': m[0].parameters()}, {'params': m[2].parameters(), **other}]
        self.refuse('momentum', optimizer=lambda m: torch.optim.SGD(groups(m, momentum=0.5), lr=0.1))
        self.refuse('betas', optimizer=lambda m: torch.optim.AdamW(groups(m, betas=(0.8, 0.9))))
        self.refuse('eps', optimizer=lambda m: torch.optim.AdamW(groups(m, eps=1e-4)))

    def test_an_optimizer_that_took_steps(self):
        def stepped(m):
            optimizer = torch.optim.Adam(m.parameters())
            m(torch.ones(1, 10)).sum().backward()
            optimizer.step()
            return optimizer
        self.refuse('taken steps already', optimizer=stepped)

    def test_parameters_of_another_model(self):
        self.refuse('does not have', optimizer=lambda m: torch.optim.SGD(mlp(2).parameters(), lr=0.1))

    def test_nothing_to_learn(self):
        model = mlp()
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        self.refuse('nothing', model=model)


class Schedules(Refused):
    def test_schedules_that_are_not_known_in_advance(self):
        self.refuse('ReduceLROnPlateau', schedule=lambda o: schedules.ReduceLROnPlateau(o))

    def test_schedules_that_change_momentum(self):
        self.refuse('cycle_momentum=False', schedule_per='round',
                    optimizer=lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
                    schedule=lambda o: schedules.OneCycleLR(o, 0.1, total_steps=20))

    def test_ratios_of_groups(self):
        def groups(m):
            return torch.optim.SGD([{'params': m[0].parameters()}, {'params': m[2].parameters()}], lr=0.1)
        self.refuse('group 1', optimizer=groups,
                    schedule=lambda o: schedules.LambdaLR(o, [lambda e: 1, lambda e: 1 / (e + 1)]))

    def test_a_scheduler_that_join_does_not_know(self):
        def optimizer(m):
            its = torch.optim.SGD(m.parameters(), lr=0.1)
            schedules.LinearLR(its, 0.01, total_iters=10)
            return its
        self.refuse('give it as schedule=', optimizer=optimizer)

    def test_a_schedule_of_another_optimizer(self):
        other = torch.optim.SGD(mlp().parameters(), lr=0.1)
        self.refuse('made with the optimizer', schedule=lambda o: schedules.StepLR(other, 1))
        self.refuse('schedule_per', schedule=lambda o: schedules.StepLR(o, 1), schedule_per='step')


class Others(Refused):
    def test_models(self):
        self.refuse('SyncBatchNorm', model=nn.Sequential(nn.SyncBatchNorm(10), nn.Linear(10, 3)))
        self.refuse('float16', model=mlp().half())
        self.refuse('complex', model=nn.ParameterList([torch.zeros(2, dtype=torch.complex64)]))
        self.refuse('no shape yet', model=nn.Sequential(nn.LazyLinear(3)))

    def test_data(self):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(samples())
        self.refuse('give samples=', data=Stream())
        self.refuse('no samples', data=[])
        self.refuse('without score', test=samples())
        self.refuse('loader has batch_size', workers=1, loader={'batch_size': 3})
        self.refuse('workers=1', loader={'prefetch_factor': 3})

    def test_numbers(self):
        self.refuse('batch = 0', batch=0)
        self.refuse('micro_batch = 0', micro_batch=0)
        self.refuse('micro_batch = 10 does not divide batch = 32, .* give 8', micro_batch=10)
        self.refuse('no argument lr_x', lr_x=object())
        self.refuse('epochs = 3.5', epochs=3.5)
        self.refuse('batch is missing', batch=None)
