"""Makes the gallery of the site: runs the program on small jobs, and keeps its pages, a picture of each, and what it
printed: the examples of gallery_examples.py, a page each, and the program's own pages on one.

    gallery.py PROGRAM FOLDER [BROWSER]     without a browser there are no pictures

STEELYARD_PYTHON is the Python of scripts: PyTorch and Lightning must be there, or their examples are not run.
"""
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from gallery_examples import EXAMPLES

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PORT = 7080
SIZE = '1280,1000'  # of a picture, in pixels
LINE = 96  # characters of a command that fit on a line of the site
LINES = 40  # of an output, that its page shows
LANGUAGES = {'py': 'python', 'toml': 'toml', 'sh': 'bash'}

# For `plan`: three workers of unequal speed on this machine.
HOSTS = '''[[host]]
name = "here"
address = "127.0.0.1"
scheduler = true
servers = 1
''' + ''.join(f'[[host.worker]]\nname = "{name}"\nsimulate_slowdown = {factor}\n'
              for name, factor in (('half', 2), ('quarter', 4), ('eighth', 8)))

INDEX = '''# Gallery

`script/gallery` made everything here: it ran these commands, one after another, on the machine that built this site.
The figures are therefore no benchmarks; [Benchmarks](../benchmarks.md) has those. The gallery is made only if every
example has its expected result.

The program: VERSION.

| example | seconds here | expected result |
| --- | ---: | --- |
ROWS

[Pages of the program](pages.md) has a picture of each kind of page.
'''

PAGES = '''# Pages of the program

Every page is one file, which needs no network. Select a picture to open its page.
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
    Exhibit('A page while it trains', 'The same page, served to browsers during the run; the picture was taken then.',
            (f'steelyard train examples/jobs/demo.toml --set train.epochs=1 --web :{PORT} --run-dir runs/live',), live=True),
    Exhibit('A comparison of trainings',
            'Real trainings under each policy, repeated and interleaved, with curves of loss and accuracy over time.',
            ('steelyard compare examples/jobs/quick.toml --policies equal,lb-bsp,steelyard --repeats 2 --run-dir runs/compared',),
            'runs/compared/compare.html'),
    Exhibit('A sweep', 'The scenario again, for three costs of an exchange: the slower the network, the less a split gains.',
            ('steelyard compare examples/scenarios/step.toml --policies equal,lb-bsp,steelyard --sweep network.step_ms=5,50,500 '
             '--html sweep.html',), 'sweep.html'),
    Exhibit('The state of a run', 'What `status` prints, also for a run that still trains.', ('steelyard status runs/equal',)),
    Exhibit('A recorded run under another policy', '`replay` simulates the machines of a recorded run under other policies.',
            ('steelyard replay runs/equal --policies equal,lb-bsp,steelyard',)),
    Exhibit('A plan', 'Short trials of each worker, then the fastest combination of workers and sync mode, and what each worker adds.',
            ('cat hosts.toml', 'steelyard plan hosts.toml examples/jobs/demo.toml --seconds 3 --no-check --run-dir runs/planned',)),
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


def with_picture(title, name, page, browser, folder):
    """Keeps a page, and its picture. Returns the text that shows it."""
    shutil.copy(page, os.path.join(folder, name + '.html'))
    if not browser:
        return f'[Open the page.]({name}.html)'
    photograph(browser, 'file://' + os.path.abspath(page), os.path.join(folder, name + '.png'))
    return f'[![{title}]({name}.png)]({name}.html)'


def block_of(commands):
    return '\n'.join(f'    {line}' for command in commands for line in broken(command))


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
        shown = with_picture(it.title, it.name, it.page, browser, folder) if it.page else f'```\n{printed}\n```'
    return f'## {it.title}\n\n{it.text}\n\n{block_of(it.commands)}\n\n{shown}\n'


def missing(needs, environment):
    """Why an example that needs this cannot run here; empty if it can."""
    if needs == 'root':
        return '' if os.geteuid() == 0 and shutil.which('ip') else 'it needs root, for network namespaces'
    python = [environment['STEELYARD_PYTHON'], '-c', f'import {needs}']
    return '' if not needs or subprocess.run(python, capture_output=True).returncode == 0 else f'it needs the module {needs}'


def proven(it, printed):
    """Ends with an error if the result is not the expected one."""
    pattern, least = it.proof
    found = re.findall(pattern, printed)
    if not found or float(found[-1]) < least:
        sys.exit(f'script/gallery: {it.title}: not the expected result ({pattern}, at least {least}):\n{printed}')


def show_example(it, environment, browser, folder):
    """Runs its commands, and writes its page; returns its row of the index."""
    begin, reason = time.monotonic(), missing(it.needs, environment)
    parts = [f'# {it.title}', it.text, block_of(it.commands), f'**Expected:** {it.expected}']
    if reason:
        parts.append(f'This example was not run here: {reason}.')
    else:
        try:
            outputs = [run(command + ' 2>&1', environment) for command in it.commands]
            printed = '\n'.join(text for text in outputs if text)
        finally:
            for command in it.after:
                subprocess.run(['bash', '-c', command], env=environment, stderr=subprocess.DEVNULL)
        proven(it, printed + '\n')
        parts += [f'It took {time.monotonic() - begin:.0f} seconds here.',
                 with_picture(it.title, f'{it.name}_page', it.page, browser, folder), f'```\n{shortened(printed)}\n```']
    if it.elsewhere:
        parts += ['On such machines, which this one is not, so these commands were not run here:', block_of(it.elsewhere)]
    for name in it.files:
        path = os.path.normpath(os.path.join('examples/gallery', name))
        with open(path, encoding='utf-8') as file:
            parts.append(f'`{path}`:\n\n```{LANGUAGES.get(path.rpartition(".")[2], "")}\n{file.read()}```')
    with open(os.path.join(folder, it.name + '.md'), 'w', encoding='utf-8') as file:
        file.write('\n\n'.join(parts) + '\n')
    seconds = 'not run here' if reason else f'{time.monotonic() - begin:.0f}'
    return f'| [{it.title}]({it.name}.md) | {seconds} | {it.expected} |'


def shortened(printed):
    """The last lines of what was printed."""
    lines = printed.split('\n')
    return '\n'.join(['[...]', *lines[-LINES:]] if len(lines) > LINES else lines)


def environment_for(program, place):
    """Of all commands: the program, and the package of the sources with the library of the same build."""
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(program))), 'lib/libsteelyard.so')
    return {'STEELYARD_PYTHON': shutil.which('python3'), 'STEELYARD_LIBRARY': library, **os.environ,
            'STEELYARD_PROGRAM': program, 'PATH': f'{place}/bin:{os.environ["PATH"]}',
            'PYTHONPATH': os.pathsep.join([os.path.join(ROOT, 'bindings/python'), os.environ.get('PYTHONPATH', '')]),
            'PYTHONDONTWRITEBYTECODE': '1'}


def timed(title, function, *arguments):
    begin = time.monotonic()
    result = function(*arguments)
    print(f'   {title}: {time.monotonic() - begin:.0f} s', flush=True)
    return result


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
        environment = environment_for(program, place)
        rows = [timed(it.title, show_example, it, environment, browser, 'gallery') for it in EXAMPLES]
        sections = [PAGES, *(timed(it.title, show, it, environment, browser, 'gallery') for it in EXHIBITS)]
        index = INDEX.replace('VERSION', run('steelyard --version', environment)).replace('ROWS', '\n'.join(rows))
        for name, text in (('index.md', index), ('pages.md', '\n'.join(sections))):
            with open(f'gallery/{name}', 'w', encoding='utf-8') as file:
                file.write(text)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree('gallery', folder)


if __name__ == '__main__':
    main()
