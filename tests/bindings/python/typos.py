"""Ten typos of a script, one a line, for type checkers: test_job_keys.py counts those that they find."""
import torch

import steelyard.torch

model = torch.nn.Linear(10, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.ones(8, 10))
steelyard.torch.join(model, optimizer, data, batch=4, epoch=3)  # typo
steelyard.torch.join(model, optimizer, data, batch='64')  # typo
steelyard.torch.join(model, optimizer, data, batch=4, epochs=3.5)  # typo
steelyard.torch.join(model, optimizer, data, batch=4, clip=1.0)  # typo
steelyard.torch.join(model, optimizer, data, batch=4, lr=0.1)  # typo
steelyard.torch.join(model, optimizer, data, batch=4, polcy='equal')  # typo
steelyard.torch.join(model, optimizer, data, batch=4, checkpoint_minutes='5')  # typo
steelyard.torch.join(model, optimizer, data, batch=4, push_encoding='fp16')  # typo
job = steelyard.torch.join(model, optimizer, data, batch=4, checkpoint_minutes=5, policy='lb-bsp', verbose=False)
for (x,) in job:
    job.backwards(model(x).mean())  # typo
if job.mian:  # typo
    torch.save(model.state_dict(), 'model.pt')
