# Understudy in a container: the private table, the run file and the ledger are in one folder.
#   docker build --tag understudy .
#   docker run --rm --network none --volume "$PWD:/tables" understudy check understudy.toml
FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir /source pandas && rm -rf /source
WORKDIR /tables
ENTRYPOINT ["understudy"]
