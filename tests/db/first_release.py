"""The SQLite tables as the first release made them, statement by statement, before its migration was edited."""

TABLES = (
    """CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)""",
    """CREATE TABLE projects (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    created DATETIME NOT NULL,
    sample BOOLEAN NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
)""",
    """CREATE TABLE segments (
    id INTEGER NOT NULL,
    project_id INTEGER NOT NULL,
    doc_id TEXT NOT NULL,
    segment_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    source TEXT,
    PRIMARY KEY (id),
    CONSTRAINT one_segment_a_key UNIQUE (project_id, doc_id, segment_id),
    FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
)""",
    """CREATE TABLE segment_references (
    segment INTEGER NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (segment, position),
    FOREIGN KEY(segment) REFERENCES segments (id) ON DELETE CASCADE
)""",
    """CREATE TABLE outputs (
    id INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    system TEXT NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    content_key VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT one_output_a_system UNIQUE (segment, system),
    FOREIGN KEY(segment) REFERENCES segments (id) ON DELETE CASCADE
)""",
    """CREATE INDEX ix_outputs_content_key ON outputs (content_key)""",
    """CREATE TABLE human_scores (
    id INTEGER NOT NULL,
    output INTEGER NOT NULL,
    name TEXT NOT NULL,
    value DOUBLE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT one_human_score_a_name UNIQUE (output, name),
    FOREIGN KEY(output) REFERENCES outputs (id) ON DELETE CASCADE
)""",
    """CREATE TABLE signatures (
    id INTEGER NOT NULL,
    metric TEXT NOT NULL,
    signature TEXT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (digest)
)""",
    """CREATE TABLE runs (
    id INTEGER NOT NULL,
    signature INTEGER NOT NULL,
    created DATETIME NOT NULL,
    n INTEGER NOT NULL,
    seconds DOUBLE NOT NULL,
    machine TEXT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(signature) REFERENCES signatures (id) ON DELETE CASCADE
)""",
    """CREATE TABLE scores (
    signature INTEGER NOT NULL,
    content_key VARCHAR(64) NOT NULL,
    run INTEGER NOT NULL,
    value DOUBLE,
    status VARCHAR(16) NOT NULL,
    reason TEXT NOT NULL,
    parts TEXT NOT NULL,
    detail BLOB,
    PRIMARY KEY (signature, content_key),
    FOREIGN KEY(signature) REFERENCES signatures (id) ON DELETE CASCADE,
    FOREIGN KEY(run) REFERENCES runs (id) ON DELETE CASCADE
)""",
    """CREATE INDEX scores_by_content ON scores (content_key)""",
    """CREATE TABLE jobs (
    id INTEGER NOT NULL,
    project_id INTEGER NOT NULL,
    metrics TEXT NOT NULL,
    state VARCHAR(16) NOT NULL,
    done INTEGER NOT NULL,
    total INTEGER NOT NULL,
    message TEXT NOT NULL,
    created DATETIME NOT NULL,
    started DATETIME,
    finished DATETIME,
    worker TEXT,
    heartbeat DATETIME,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
)""",
    """CREATE INDEX ix_jobs_state ON jobs (state)""",
    """CREATE TABLE raters (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    created DATETIME NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
)""",
    """CREATE TABLE events (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL,
    action_id TEXT NOT NULL,
    time DATETIME NOT NULL,
    rater INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    kind VARCHAR(16) NOT NULL,
    system TEXT,
    payload TEXT NOT NULL,
    client_time TEXT NOT NULL,
    CONSTRAINT one_event_an_action UNIQUE (project_id, action_id),
    FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE,
    FOREIGN KEY(rater) REFERENCES raters (id),
    FOREIGN KEY(segment) REFERENCES segments (id) ON DELETE CASCADE
)""",
    """CREATE INDEX events_by_segment ON events (segment, rater)""",
    """CREATE TABLE calibrations (
    id INTEGER NOT NULL,
    project_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    value VARCHAR(32) NOT NULL,
    signature TEXT NOT NULL,
    refinement TEXT NOT NULL,
    result TEXT NOT NULL,
    created DATETIME NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT one_calibration_a_name UNIQUE (project_id, name),
    FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
)""",
    """CREATE TRIGGER events_keep BEFORE UPDATE ON events
       BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END""",
    """CREATE TRIGGER events_stay BEFORE DELETE ON events
       WHEN EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id)
       BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END""",
)
