"""committee on a Dask cluster; needs the extra `committee[dask]`."""
