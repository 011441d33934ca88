"""The examples of the gallery: a page each, with its commands, files, time, expected result and a picture."""
import dataclasses


@dataclasses.dataclass
class Example:
    name: str        # of its page
    title: str
    text: str        # what it shows
    commands: tuple  # in this order
    page: str        # the page that they write
    expected: str    # the result, in a sentence
    proof: tuple     # (regular expression, least number) of what is printed: the last match counts
    files: tuple = ()  # of examples/gallery, shown on the page
    needs: str = ''    # "root", or a module of Python: without it the example is not run
    after: tuple = ()  # commands that remove what the others made, also if one of them fails
    elsewhere: tuple = ()  # commands for machines that this one is not: shown, and not run


ACCURACY = r'test accuracy +([\d.]+) %'

EXAMPLES = (
    Example('own_csv', 'A table of your own', 'Classes of animals from a CSV file, with the names of classes in its last column, '
            'on a new PC and one a third as fast.',
            ('python3 examples/gallery/make_animals.py', 'steelyard train examples/gallery/animals.toml --run-dir runs/animals',
             'steelyard eval runs/animals', 'steelyard predict runs/animals --input test.csv --out predicted.csv',
             'head -n 4 predicted.csv', 'steelyard report runs/animals'),
            'runs/animals/report.html', 'The test accuracy is about 90 %: cats and rabbits are of similar size.', (ACCURACY, 80),
            ('make_animals.py', 'animals.toml')),
    Example('own_pictures', 'Pictures of your own', 'Discs, squares and crosses, in a folder for each class.',
            ('python3 examples/gallery/make_shapes.py', 'steelyard train examples/gallery/shapes.toml --run-dir runs/shapes',
             'steelyard predict runs/shapes --input shapes/test/disc --out discs.csv', 'steelyard report runs/shapes'),
            'runs/shapes/report.html', 'The test accuracy is above 90 % after eight epochs.', (ACCURACY, 90),
            ('make_shapes.py', 'shapes.toml')),
    Example('text', 'A text', 'A small GPT learns the bytes of Perl\'s manual, each predicted from the 64 before it.',
            ('steelyard train examples/jobs/gpt.toml --set model.width=32 --set model.layers=2 --set model.heads=2 '
             '--set data.context=64 --set train.epochs=0 --set train.rounds=100 --run-dir runs/text',
             'steelyard report runs/text'),
            'runs/text/report.html', 'It predicts about 28 % of the bytes of unseen text; always a blank would be right for 16 %. '
            'The model of the job file itself is larger and trains for 22 minutes.', (ACCURACY, 20)),
    Example('three_pcs', 'Three PCs', 'One command trains on three machines. Here they are network namespaces of one machine, '
            'with addresses of their own; yours need ssh in place of `netns`.',
            ('sh examples/gallery/make_network.sh',
             'steelyard launch examples/gallery/three_pcs.toml examples/jobs/fashion_mnist.toml --set train.epochs=1 '
             '--run-dir runs/three', 'steelyard report runs/three'),
            'runs/three/report.html', 'The fastest PC gets the largest share of each batch, and all three finish together; the test '
            'accuracy is about 70 % after one epoch.', (ACCURACY, 55), ('three_pcs.toml', 'make_network.sh'), 'root',
            tuple(f'ip netns delete steelyard-{it}' for it in ('pc-1', 'pc-2', 'pc-3', 'switch'))),
    Example('shared_machine', 'Machines that others use', 'Other programs take most of two machines at times (simulated); shares '
            'follow within a round or two.',
            ('steelyard train examples/jobs/unequal.toml --set train.epochs=1 --run-dir runs/shared',
             'steelyard report runs/shared'),
            'runs/shared/report.html', 'The test accuracy is about 76 % after one epoch. The page shows shares that follow '
            'the speeds.', (ACCURACY, 70)),
    Example('gpu_with_helpers', 'A GPU box with helpers', 'Is a second, older GPU worth adding, and are four CPUs? In virtual time, '
            'with the times of an M60 and a K520.',
            ('steelyard compare examples/scenarios/mixed_two_gpus.toml --policies equal,lb-bsp,steelyard --html helpers.html',),
            'helpers.html', 'With the helpers, `steelyard` is 1.26 times as fast as the M60 alone; with equal shares the slowest CPU '
            'would make all wait, at a fourteenth of its speed.', (r'steelyard bsp .* ([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+\n', 99),
            elsewhere=('steelyard devices', 'steelyard train job.toml --set worker.box.device=cuda:0 --set worker.helper.device=cpu',
                       'steelyard plan hosts.toml job.toml')),
    Example('far_labs', 'Labs far apart', 'Three labs with lines of 10 Mbit/s: sending the model takes 25 times as long as computing '
            'a batch. In virtual time.',
            ('steelyard compare examples/scenarios/far_labs.toml --policies equal,steelyard --sync bsp,local:64,diloco:64 '
             '--html far_labs.html',),
            'far_labs.html', 'Synchronous rounds gain nothing from three labs. If they exchange after 64 steps, balanced, they are 11 '
            'times as fast. Percent of ideal exceeds 100 here, because the ideal is that of synchronous rounds.',
            (r'steelyard diloco:64 .* ([\d.]+) +[\d.]+ +[\d.]+\n', 10)),
    Example('kill_everything', 'Kill everything', 'A worker, a server and the scheduler are killed in turn with `kill -9`, while the job '
            'trains.',
            ('bash examples/gallery/kill_everything.sh', 'steelyard report runs/killed'),
            'runs/killed/report.html', 'The job goes on each time, without a checkpoint being read, and finishes after 20 seconds '
            'of training. The test accuracy then depends on the machine: 78 to 83 % on two cores.',
            (r'starting .scheduler. again[\s\S]*test accuracy +([\d.]+) %', 60),
            ('kill_everything.sh', 'kill_everything.toml')),
    Example('nine_methods', 'Nine methods compared', 'Nine policies on four machines, of which the fastest becomes slow for a while. In '
            'virtual time.',
            ('steelyard compare examples/scenarios/step.toml --policies equal,static,dlb,boa,lbb,lb-bsp,omnilearn,cannikin,steelyard '
             '--html nine.html',),
            'nine.html', '`steelyard` reaches 98.9 % of the ideal, `equal` 49.8 %. The figures are the same on every machine.',
            (r'steelyard bsp .* ([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+\n', 98)),
    Example('pytorch', 'A PyTorch script', 'A script of ten lines more than a model, as two workers, of which one is slowed down.',
            ('steelyard run -n 2 --set worker.worker-1.simulate_slowdown=3 --set train.epochs=0 --set train.rounds=60 '
             '--run-dir runs/pytorch examples/python/image_classifier.py', 'steelyard report runs/pytorch'),
            'runs/pytorch/report.html', 'The test accuracy is above 65 % after 60 rounds; the script by itself trains five epochs, to '
            'about 88 %.', (ACCURACY, 55), ('../python/image_classifier.py',), 'torch'),
    Example('lightning', 'Lightning\'s Trainer', 'The same network under Lightning: only the strategy differs from a script for one '
            'process.',
            ('steelyard run -n 2 --set worker.worker-1.simulate_slowdown=3 --run-dir runs/lightning '
             'examples/python/lightning_classifier.py --quick', 'steelyard report runs/lightning'),
            'runs/lightning/report.html', 'The job finishes after eight rounds, with a validation by the Trainer.',
            (r'time +(\d+):\d+ ', 0), ('../python/lightning_classifier.py',), 'lightning'),
    Example('simulate', 'A simulation', 'Four machines, of which one exits and returns, and one joins late. Two minutes of a cluster take '
            'a second.',
            ('steelyard simulate examples/scenarios/kill_and_join.toml',
             'steelyard compare examples/scenarios/kill_and_join.toml --policies equal,steelyard --html simulate.html'),
            'simulate.html', '`steelyard` reaches 99.4 % of the ideal, `equal` 44.3 %.',
            (r'steelyard bsp .* ([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+\n', 99)),
)
