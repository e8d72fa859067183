# The service: HTTP API and dashboard. `compose.yaml` puts it beside a PostgreSQL.
# The tag of the base image moves as it gets fixes. For the very same base every time, write its digest
# (python:3.11-slim@sha256:…, as `docker buildx imagetools inspect python:3.11-slim` prints it) on both FROM lines.
FROM python:3.11-slim AS build

# Nothing comes from the index but wheels whose hashes are in this file (`make hashes` writes it). Those of all extras:
# which of them are installed is said below.
COPY requirements-image.txt /
RUN pip download --no-cache-dir --require-hashes --only-binary=:all: --no-deps --requirement /requirements-image.txt \
    --dest /wheels

# Which extras the image has. Without `lab` it is 400 MB smaller, and its dashboard has no laboratory.
ARG EXTRAS=lab,web,postgres,excel,plot

# From those wheels alone: the build of the package, too, asks no index.
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv --without-pip /opt/apportion
RUN pip --python /opt/apportion/bin/python install --no-cache-dir --no-index --find-links /wheels ".[${EXTRAS}]"

FROM python:3.11-slim
COPY --from=build /opt/apportion /opt/apportion
ENV PATH=/opt/apportion/bin:$PATH

# Nothing here needs to be root. Campaigns in SQLite, if no APPORTION_DB is given, go into the volume.
RUN useradd --create-home --uid 1000 apportion && mkdir /data && chown apportion /data
USER apportion
WORKDIR /home/apportion
ENV APPORTION_DB=/data/campaigns.db PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8000

HEALTHCHECK --interval=30s --timeout=10s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=8)"]

# Any address but loopback needs a token first: docker run … apportion token create NAME
ENTRYPOINT ["apportion"]
CMD ["serve", "--host", "0.0.0.0"]
