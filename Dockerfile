# The service: HTTP API and dashboard. `compose.yaml` puts it beside a PostgreSQL.
FROM python:3.11-slim

# Which extras the image has. Without `lab` it is 400 MB smaller, and its dashboard has no laboratory.
ARG EXTRAS=lab,web,postgres,excel,plot

WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --constraint constraints.txt ".[${EXTRAS}]" && rm -rf /build

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
