namespace steelyard::nn::cuda {}
