"""Writes train.csv and test.csv: invented houses with a price and a monthly cost of heating.

    python3 examples/houses/make.py

The numbers follow formulas with noise, so there is something to learn; they describe no real place.
"""
import math
import pathlib
import random

draw = random.Random(7)


def house():
    area = round(draw.uniform(35, 220))
    rooms = max(1, min(9, round(area / 28 + draw.gauss(0, 0.7))))
    year = draw.randint(1890, 2024)
    distance = round(draw.uniform(0.5, 40), 1)
    garden = draw.randint(0, 1)
    per_square_metre = 1800 + 4200 * math.exp(-distance / 9) + 6 * max(0, year - 1960)
    price = area * per_square_metre * (1 + 0.06 * garden) + 9000 * rooms + draw.gauss(0, 15000)
    heating = area * (2.4 - 0.013 * max(0, year - 1940)) + draw.gauss(0, 8)
    return area, rooms, year, distance, garden, round(price), round(heating, 1)


folder = pathlib.Path(__file__).parent
for name, rows in (('train.csv', 600), ('test.csv', 150)):
    lines = ['area_m2,rooms,year,distance_km,garden,price,heating']
    lines += [','.join(map(str, house())) for _ in range(rows)]
    (folder / name).write_text('\n'.join(lines) + '\n')
