"""Writes train.csv and test.csv: height, length and weight of invented animals, with names of classes."""
import csv
import random

KINDS = {'cat': (25, 46, 4.5), 'dog': (45, 75, 20), 'mouse': (4, 9, 0.02), 'rabbit': (22, 40, 3)}
drawn = random.Random(1)
for name, count in (('train.csv', 3000), ('test.csv', 600)):
    with open(name, 'w', newline='') as file:
        table = csv.writer(file)
        table.writerow(['height', 'length', 'weight', 'animal'])
        for _ in range(count):
            animal = drawn.choice(sorted(KINDS))
            table.writerow([*(round(it * drawn.gauss(1, 0.25), 3) for it in KINDS[animal]), animal])
