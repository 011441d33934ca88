"""Makes the gallery of the site: runs the program on small jobs, and keeps its pages, a picture of each, and what it
printed.

    gallery.py PROGRAM FOLDER [BROWSER]     without a browser there are no pictures
"""
import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PORT = 7080
SIZE = '1280,1000'  # of a picture, in pixels
LINE = 96  # characters of a command that fit on a line of the site

# For `plan`: three workers of unequal speed on this machine.
HOSTS = '''[[host]]
name = "here"
address = "127.0.0.1"
scheduler = true
servers = 1
''' + ''.join(f'[[host.worker]]\nname = "{name}"\nsimulate_slowdown = {factor}\n'
              for name, factor in (('half', 2), ('quarter', 4), ('eighth', 8)))

INTRODUCTION = '''# Gallery of pages

`script/gallery` made everything here: it ran these commands, one after another, on the machine that built this site.
The figures are therefore no benchmarks; [Benchmarks](../benchmarks.md) has those. Every page is one file, which
needs no network. Select a picture to open its page.

The program: VERSION.
'''


@dataclasses.dataclass
class Exhibit:
    title: str
    text: str        # one sentence on what it shows
    commands: tuple  # in this order
    page: str = ''   # the page that they write; without one, what they print is shown
    live: bool = False  # a picture of the page that the command serves while it runs

    @property
    def name(self):
        return self.title.lower().replace(' ', '_').replace(',', '')


EXHIBITS = (
    Exhibit('A run with equal shares',
            'The page of a run names the worker that slowed the others down, and what a better split would gain.',
            ('steelyard train examples/jobs/demo.toml --set train.epochs=2 --set cluster.policy=equal --run-dir runs/equal',
             'steelyard report runs/equal'), 'runs/equal/report.html'),
    Exhibit('The same run, balanced', 'With the default policy no worker waits long for another.',
            ('steelyard train examples/jobs/demo.toml --set train.epochs=2 --set cluster.policy=steelyard --run-dir runs/balanced',
             'steelyard report runs/balanced'), 'runs/balanced/report.html'),
    Exhibit('Two runs on one page', 'Several runs share one page, with their curves over the same axes.',
            ('steelyard report runs/equal runs/balanced --output both.html',), 'both.html'),
    Exhibit('Machines that others use',
            'Other programs take most of two machines at times (simulated), and shares follow within a round or two.',
            ('steelyard train examples/jobs/unequal.toml --set train.epochs=1 --run-dir runs/unequal',
             'steelyard report runs/unequal'), 'runs/unequal/report.html'),
    Exhibit('A page while it trains', 'The same page, served to browsers during the run; the picture was taken then.',
            (f'steelyard train examples/jobs/demo.toml --set train.epochs=1 --web :{PORT} --run-dir runs/live',), live=True),
    Exhibit('A comparison of trainings',
            'Real trainings under each policy, repeated and interleaved, with curves of loss and accuracy over time.',
            ('steelyard compare examples/jobs/quick.toml --policies equal,lb-bsp,steelyard --repeats 2 --run-dir runs/compared',),
            'runs/compared/compare.html'),
    Exhibit('A comparison of scenarios',
            'The same policies on simulated machines, of which the fastest becomes slow for a while, in virtual time.',
            ('steelyard compare examples/scenarios/step.toml --policies equal,static,lbb,lb-bsp,steelyard --html step.html',),
            'step.html'),
    Exhibit('A sweep', 'The scenario again, for three costs of an exchange: the slower the network, the less a split gains.',
            ('steelyard compare examples/scenarios/step.toml --policies equal,lb-bsp,steelyard --sweep network.step_ms=5,50,500 '
             '--html sweep.html',), 'sweep.html'),
    Exhibit('A simulation', 'One scenario under one policy: what each worker computed, and how far the rounds were from the ideal.',
            ('steelyard simulate examples/scenarios/kill_and_join.toml',)),
    Exhibit('The state of a run', 'What `status` prints, also for a run that still trains.', ('steelyard status runs/equal',)),
    Exhibit('A recorded run under another policy', '`replay` simulates the machines of a recorded run under other policies.',
            ('steelyard replay runs/equal --policies equal,lb-bsp,steelyard',)),
    Exhibit('A plan', 'Short trials of each worker, then the fastest combination of workers and sync mode, and what each worker adds.',
            ('cat hosts.toml', 'steelyard plan hosts.toml examples/jobs/demo.toml --seconds 1 --no-check --run-dir runs/planned',)),
)


def run(command, environment):
    result = subprocess.run(['bash', '-c', command], env=environment, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode:
        sys.exit(f'script/gallery: this command failed: {command}\n{result.stdout}{result.stderr}')
    return result.stdout.rstrip('\n')


def photograph(browser, url, picture):
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run([browser, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
                        f'--user-data-dir={profile}', f'--window-size={SIZE}', '--blink-settings=preferredColorScheme=1',
                        '--virtual-time-budget=5000', f'--screenshot={picture}', url],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=True)


def photograph_live(command, environment, browser, picture):
    """Takes the picture when some rounds are recorded."""
    training = subprocess.Popen(['bash', '-c', f'exec {command}'], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url, recorded = f'http://127.0.0.1:{PORT}', 'runs/live/rounds.jsonl'
        while training.poll() is None and not (os.path.exists(recorded) and os.path.getsize(recorded) > 20_000):
            time.sleep(0.2)
        if training.poll() is None:
            urllib.request.urlopen(url, timeout=10).close()
            photograph(browser, url, picture)
        if training.wait():
            sys.exit(f'script/gallery: this command failed: {command}; is port {PORT} in use?')
    finally:
        training.kill()


def broken(command):
    """Its lines, short enough for a page."""
    while len(command) > LINE and ' --' in command[:LINE]:
        at = command.rindex(' --', 0, LINE)
        yield command[:at] + ' \\'
        command = '   ' + command[at:]
    yield command


def show(it, environment, browser, folder):
    """Runs its commands; returns its section of the gallery."""
    picture, shown = os.path.join(folder, it.name + '.png'), ''
    if it.live:
        if not browser:
            return ''
        photograph_live(it.commands[0], environment, browser, picture)
        shown = f'![{it.title}]({it.name}.png)'
    else:
        printed = '\n\n'.join([run(command, environment) for command in it.commands])
        if it.page:
            shutil.copy(it.page, os.path.join(folder, it.name + '.html'))
            shown = f'[Open the page.]({it.name}.html)'
            if browser:
                photograph(browser, 'file://' + os.path.abspath(it.page), picture)
                shown = f'[![{it.title}]({it.name}.png)]({it.name}.html)'
        else:
            shown = f'```\n{printed}\n```'
    commands = '\n'.join(f'    {line}' for command in it.commands for line in broken(command))
    return f'## {it.title}\n\n{it.text}\n\n{commands}\n\n{shown}\n'


def main():
    program, folder = (os.path.abspath(it) for it in sys.argv[1:3])
    browser = sys.argv[3] if len(sys.argv) > 3 else ''
    with tempfile.TemporaryDirectory(prefix='steelyard-gallery-') as place:
        os.chdir(place)
        os.makedirs('bin')
        os.symlink(program, 'bin/steelyard')
        os.symlink(os.path.join(ROOT, 'examples'), 'examples')
        with open('hosts.toml', 'w', encoding='utf-8') as file:
            file.write(HOSTS)
        os.makedirs('gallery')
        environment = dict(os.environ, PATH=f'{place}/bin:{os.environ["PATH"]}')
        sections = [INTRODUCTION.replace('VERSION', run('steelyard --version', environment))]
        for it in EXHIBITS:
            begin = time.monotonic()
            sections.append(show(it, environment, browser, 'gallery'))
            print(f'   {it.title}: {time.monotonic() - begin:.0f} s', flush=True)
        with open('gallery/index.md', 'w', encoding='utf-8') as file:
            file.write('\n'.join(sections))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree('gallery', folder)


if __name__ == '__main__':
    main()
