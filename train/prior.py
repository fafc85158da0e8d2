"""Mean and covariance of public text's embeddings: what a noisy embedding says about the clean one."""
import torch

from embedder import read


class Prior:
    def __init__(self, path, device):
        data, _ = read(path)
        self.mean, self.values, self.vectors = (torch.from_numpy(data[k]).to(device) for k in
                                                ("mean", "eigenvalues", "eigenvectors"))

    def posterior_mean(self, mu, std):
        """mu (n, d) float32 with isotropic noise of standard deviation std (n) a coordinate."""
        s2 = (std * std)[:, None]
        return mu - ((mu - self.mean) @ self.vectors.T * (s2 / (self.values + s2))) @ self.vectors
