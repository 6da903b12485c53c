-- A database of schema 0025 with a row in every table, as pg_dump of PostgreSQL 15 wrote it on 2026-11-28. Databases of that day must open: never change this file.
CREATE FUNCTION public.events_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
               BEGIN
                 IF TG_OP = 'DELETE' THEN
                   IF NOT EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id AND importing IS NULL) THEN
                     RETURN OLD;
                   END IF;
                 END IF;
                 RAISE EXCEPTION 'the log of labels is append-only' USING ERRCODE = 'restrict_violation';
               END $$;
CREATE FUNCTION public.refuse_audit_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
       BEGIN RAISE EXCEPTION 'the audit record is append-only'; END $$;
CREATE TABLE public.accounts (
    id integer NOT NULL,
    name text NOT NULL,
    password text,
    manager boolean NOT NULL,
    active boolean NOT NULL,
    created timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.accounts_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.accounts_id_seq OWNED BY public.accounts.id;
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.assignments (
    id integer NOT NULL,
    unit integer NOT NULL,
    participant integer NOT NULL,
    slot integer,
    "position" integer NOT NULL,
    systems text NOT NULL,
    probability double precision NOT NULL,
    state character varying(16) NOT NULL,
    assigned timestamp without time zone NOT NULL,
    lease_until timestamp without time zone,
    opened timestamp without time zone,
    submitted timestamp without time zone
);
CREATE SEQUENCE public.assignments_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.assignments_id_seq OWNED BY public.assignments.id;
CREATE TABLE public.audit (
    number integer NOT NULL,
    "time" timestamp without time zone NOT NULL,
    who text NOT NULL,
    act character varying(64) NOT NULL,
    project_id integer,
    details text NOT NULL
);
CREATE SEQUENCE public.audit_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audit_number_seq OWNED BY public.audit.number;
CREATE TABLE public.batches (
    id integer NOT NULL,
    project_id integer NOT NULL,
    name text NOT NULL,
    method character varying(32) NOT NULL,
    seed integer NOT NULL,
    signature text NOT NULL,
    population integer NOT NULL,
    outputs text NOT NULL,
    options text NOT NULL,
    created timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.batches_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.batches_id_seq OWNED BY public.batches.id;
CREATE TABLE public.calibrations (
    id integer NOT NULL,
    project_id integer NOT NULL,
    name text NOT NULL,
    value character varying(32) NOT NULL,
    signature text NOT NULL,
    refinement text NOT NULL,
    result text NOT NULL,
    created timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.calibrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.calibrations_id_seq OWNED BY public.calibrations.id;
CREATE TABLE public.campaign_units (
    id integer NOT NULL,
    campaign integer NOT NULL,
    name text NOT NULL,
    "position" integer NOT NULL,
    block integer NOT NULL,
    kind character varying(16) NOT NULL,
    of_document text NOT NULL,
    of_segment text NOT NULL,
    systems text NOT NULL,
    details text NOT NULL,
    retired boolean NOT NULL
);
CREATE SEQUENCE public.campaign_units_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.campaign_units_id_seq OWNED BY public.campaign_units.id;
CREATE TABLE public.campaigns (
    id integer NOT NULL,
    project_id integer NOT NULL,
    texts integer NOT NULL,
    name text NOT NULL,
    design text NOT NULL,
    state character varying(16) NOT NULL,
    created timestamp without time zone NOT NULL,
    created_by text NOT NULL
);
CREATE SEQUENCE public.campaigns_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.campaigns_id_seq OWNED BY public.campaigns.id;
CREATE TABLE public.cases (
    id integer NOT NULL,
    project_id integer NOT NULL,
    collection text NOT NULL,
    phenomenon text NOT NULL,
    source text,
    reference text,
    good text NOT NULL,
    changed text NOT NULL,
    what text NOT NULL,
    scores text NOT NULL,
    created timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.cases_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.cases_id_seq OWNED BY public.cases.id;
CREATE TABLE public.chunks (
    id integer NOT NULL,
    job integer NOT NULL,
    metric integer,
    "position" integer NOT NULL,
    state character varying(16) NOT NULL,
    outputs bytea,
    n integer NOT NULL,
    size double precision NOT NULL,
    begins_after integer NOT NULL,
    done integer NOT NULL,
    failed integer NOT NULL,
    known integer NOT NULL,
    reason text NOT NULL,
    message text NOT NULL,
    seconds double precision NOT NULL,
    worker text,
    heartbeat timestamp without time zone,
    attempts integer NOT NULL
);
CREATE SEQUENCE public.chunks_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.chunks_id_seq OWNED BY public.chunks.id;
CREATE TABLE public.claims (
    digest character varying(64) NOT NULL,
    content_key character varying(64) NOT NULL,
    chunk integer NOT NULL,
    worker text NOT NULL
);
CREATE TABLE public.events (
    number integer NOT NULL,
    project_id integer NOT NULL,
    action_id text NOT NULL,
    "time" timestamp without time zone NOT NULL,
    rater integer NOT NULL,
    segment integer NOT NULL,
    kind character varying(16) NOT NULL,
    system text,
    payload text NOT NULL,
    client_time text NOT NULL
);
CREATE SEQUENCE public.events_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.events_number_seq OWNED BY public.events.number;
CREATE TABLE public.external_metrics (
    id integer NOT NULL,
    project_id integer NOT NULL,
    name text NOT NULL,
    higher_is_better boolean NOT NULL,
    files text NOT NULL,
    created timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.external_metrics_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.external_metrics_id_seq OWNED BY public.external_metrics.id;
CREATE TABLE public.external_scores (
    metric integer NOT NULL,
    output integer NOT NULL,
    value double precision,
    status character varying(16) NOT NULL,
    reason text NOT NULL
);
CREATE TABLE public.human_scores (
    id integer NOT NULL,
    output integer NOT NULL,
    name text NOT NULL,
    value double precision NOT NULL,
    added_by integer
);
CREATE SEQUENCE public.human_scores_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.human_scores_id_seq OWNED BY public.human_scores.id;
CREATE TABLE public.job_metrics (
    id integer NOT NULL,
    job integer NOT NULL,
    metric text NOT NULL,
    label text NOT NULL,
    signature text NOT NULL,
    unusable text NOT NULL,
    abandoned text NOT NULL,
    examples text NOT NULL,
    speed double precision,
    length double precision NOT NULL,
    total integer NOT NULL,
    known integer NOT NULL
);
CREATE SEQUENCE public.job_metrics_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.job_metrics_id_seq OWNED BY public.job_metrics.id;
CREATE TABLE public.jobs (
    id integer NOT NULL,
    project_id integer NOT NULL,
    metrics text NOT NULL,
    state character varying(16) NOT NULL,
    done integer NOT NULL,
    total integer NOT NULL,
    message text NOT NULL,
    created timestamp without time zone NOT NULL,
    started timestamp without time zone,
    finished timestamp without time zone,
    segments text,
    timing boolean,
    priority integer,
    served timestamp without time zone,
    imports integer
);
CREATE SEQUENCE public.jobs_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.jobs_id_seq OWNED BY public.jobs.id;
CREATE TABLE public.judgements (
    id integer NOT NULL,
    output integer NOT NULL,
    rater integer NOT NULL,
    name text NOT NULL,
    value double precision NOT NULL
);
CREATE SEQUENCE public.judgements_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.judgements_id_seq OWNED BY public.judgements.id;
CREATE TABLE public.links (
    id integer NOT NULL,
    project_id integer NOT NULL,
    rater text NOT NULL,
    batch text,
    token_hash character varying(64) NOT NULL,
    created timestamp without time zone NOT NULL,
    expires timestamp without time zone,
    revoked timestamp without time zone,
    created_by text NOT NULL
);
CREATE SEQUENCE public.links_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.links_id_seq OWNED BY public.links.id;
CREATE TABLE public.login_sessions (
    token_hash character varying(64) NOT NULL,
    account integer NOT NULL,
    created timestamp without time zone NOT NULL,
    expires timestamp without time zone NOT NULL
);
CREATE TABLE public.outputs (
    id integer NOT NULL,
    segment integer NOT NULL,
    system text NOT NULL,
    "position" integer NOT NULL,
    text text NOT NULL,
    content_key character varying(64) NOT NULL,
    added_by integer,
    next_key character varying(64),
    next_key_by integer
);
CREATE SEQUENCE public.outputs_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.outputs_id_seq OWNED BY public.outputs.id;
CREATE TABLE public.participants (
    id integer NOT NULL,
    campaign integer NOT NULL,
    rater text NOT NULL,
    code text NOT NULL,
    joined timestamp without time zone NOT NULL,
    excluded text NOT NULL,
    has_left boolean NOT NULL,
    passed_tutorial boolean
);
CREATE SEQUENCE public.participants_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.participants_id_seq OWNED BY public.participants.id;
CREATE TABLE public.project_arrays (
    id integer NOT NULL,
    project_id integer NOT NULL,
    digest character varying(64) NOT NULL,
    imports integer NOT NULL,
    newest bigint NOT NULL,
    data bytea NOT NULL
);
CREATE SEQUENCE public.project_arrays_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.project_arrays_id_seq OWNED BY public.project_arrays.id;
CREATE TABLE public.project_roles (
    id integer NOT NULL,
    project_id integer NOT NULL,
    account integer NOT NULL,
    role character varying(16) NOT NULL
);
CREATE SEQUENCE public.project_roles_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.project_roles_id_seq OWNED BY public.project_roles.id;
CREATE TABLE public.project_settings (
    id integer NOT NULL,
    project_id integer NOT NULL,
    name text NOT NULL,
    value text NOT NULL
);
CREATE SEQUENCE public.project_settings_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.project_settings_id_seq OWNED BY public.project_settings.id;
CREATE TABLE public.projects (
    id integer NOT NULL,
    name text NOT NULL,
    created timestamp without time zone NOT NULL,
    sample boolean NOT NULL,
    importing timestamp without time zone,
    imports integer,
    summary text,
    cleanup character varying(8),
    adds_to integer
);
CREATE SEQUENCE public.projects_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.projects_id_seq OWNED BY public.projects.id;
CREATE TABLE public.raters (
    id integer NOT NULL,
    name text NOT NULL,
    created timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.raters_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.raters_id_seq OWNED BY public.raters.id;
CREATE TABLE public.runs (
    id integer NOT NULL,
    signature integer NOT NULL,
    created timestamp without time zone NOT NULL,
    n integer NOT NULL,
    seconds double precision NOT NULL,
    machine text NOT NULL
);
CREATE SEQUENCE public.runs_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.runs_id_seq OWNED BY public.runs.id;
CREATE TABLE public.scores (
    signature integer NOT NULL,
    content_key character varying(64) NOT NULL,
    run integer NOT NULL,
    value double precision,
    status character varying(16) NOT NULL,
    reason text NOT NULL,
    parts text NOT NULL,
    detail bytea
);
CREATE TABLE public.segment_references (
    segment integer NOT NULL,
    "position" integer NOT NULL,
    text text NOT NULL,
    added_by integer
);
CREATE TABLE public.segments (
    id integer NOT NULL,
    project_id integer NOT NULL,
    doc_id text NOT NULL,
    segment_id text NOT NULL,
    "position" integer NOT NULL,
    source text,
    added_by integer,
    source_by integer
);
CREATE SEQUENCE public.segments_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.segments_id_seq OWNED BY public.segments.id;
CREATE TABLE public.server_secret (
    id integer NOT NULL,
    value bytea NOT NULL
);
CREATE SEQUENCE public.server_secret_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.server_secret_id_seq OWNED BY public.server_secret.id;
CREATE TABLE public.shared_results (
    id integer NOT NULL,
    project_id integer NOT NULL,
    campaign integer,
    title text NOT NULL,
    blind boolean NOT NULL,
    page bytea,
    token_hash character varying(64) NOT NULL,
    created timestamp without time zone NOT NULL,
    created_by text NOT NULL,
    revoked timestamp without time zone
);
CREATE SEQUENCE public.shared_results_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.shared_results_id_seq OWNED BY public.shared_results.id;
CREATE TABLE public.signatures (
    id integer NOT NULL,
    metric text NOT NULL,
    signature text NOT NULL,
    digest character varying(64) NOT NULL
);
CREATE SEQUENCE public.signatures_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.signatures_id_seq OWNED BY public.signatures.id;
CREATE TABLE public.stress_test_runs (
    id integer NOT NULL,
    project_id integer NOT NULL,
    name text NOT NULL,
    settings text NOT NULL,
    report bytea NOT NULL,
    created timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.stress_runs_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.stress_runs_id_seq OWNED BY public.stress_test_runs.id;
CREATE TABLE public.timings (
    id integer NOT NULL,
    digest character varying(64) NOT NULL,
    n integer NOT NULL,
    size bigint NOT NULL,
    seconds double precision NOT NULL,
    length double precision NOT NULL,
    created timestamp without time zone NOT NULL
);
CREATE SEQUENCE public.timings_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.timings_id_seq OWNED BY public.timings.id;
ALTER TABLE ONLY public.accounts ALTER COLUMN id SET DEFAULT nextval('public.accounts_id_seq'::regclass);
ALTER TABLE ONLY public.assignments ALTER COLUMN id SET DEFAULT nextval('public.assignments_id_seq'::regclass);
ALTER TABLE ONLY public.audit ALTER COLUMN number SET DEFAULT nextval('public.audit_number_seq'::regclass);
ALTER TABLE ONLY public.batches ALTER COLUMN id SET DEFAULT nextval('public.batches_id_seq'::regclass);
ALTER TABLE ONLY public.calibrations ALTER COLUMN id SET DEFAULT nextval('public.calibrations_id_seq'::regclass);
ALTER TABLE ONLY public.campaign_units ALTER COLUMN id SET DEFAULT nextval('public.campaign_units_id_seq'::regclass);
ALTER TABLE ONLY public.campaigns ALTER COLUMN id SET DEFAULT nextval('public.campaigns_id_seq'::regclass);
ALTER TABLE ONLY public.cases ALTER COLUMN id SET DEFAULT nextval('public.cases_id_seq'::regclass);
ALTER TABLE ONLY public.chunks ALTER COLUMN id SET DEFAULT nextval('public.chunks_id_seq'::regclass);
ALTER TABLE ONLY public.events ALTER COLUMN number SET DEFAULT nextval('public.events_number_seq'::regclass);
ALTER TABLE ONLY public.external_metrics ALTER COLUMN id SET DEFAULT nextval('public.external_metrics_id_seq'::regclass);
ALTER TABLE ONLY public.human_scores ALTER COLUMN id SET DEFAULT nextval('public.human_scores_id_seq'::regclass);
ALTER TABLE ONLY public.job_metrics ALTER COLUMN id SET DEFAULT nextval('public.job_metrics_id_seq'::regclass);
ALTER TABLE ONLY public.jobs ALTER COLUMN id SET DEFAULT nextval('public.jobs_id_seq'::regclass);
ALTER TABLE ONLY public.judgements ALTER COLUMN id SET DEFAULT nextval('public.judgements_id_seq'::regclass);
ALTER TABLE ONLY public.links ALTER COLUMN id SET DEFAULT nextval('public.links_id_seq'::regclass);
ALTER TABLE ONLY public.outputs ALTER COLUMN id SET DEFAULT nextval('public.outputs_id_seq'::regclass);
ALTER TABLE ONLY public.participants ALTER COLUMN id SET DEFAULT nextval('public.participants_id_seq'::regclass);
ALTER TABLE ONLY public.project_arrays ALTER COLUMN id SET DEFAULT nextval('public.project_arrays_id_seq'::regclass);
ALTER TABLE ONLY public.project_roles ALTER COLUMN id SET DEFAULT nextval('public.project_roles_id_seq'::regclass);
ALTER TABLE ONLY public.project_settings ALTER COLUMN id SET DEFAULT nextval('public.project_settings_id_seq'::regclass);
ALTER TABLE ONLY public.projects ALTER COLUMN id SET DEFAULT nextval('public.projects_id_seq'::regclass);
ALTER TABLE ONLY public.raters ALTER COLUMN id SET DEFAULT nextval('public.raters_id_seq'::regclass);
ALTER TABLE ONLY public.runs ALTER COLUMN id SET DEFAULT nextval('public.runs_id_seq'::regclass);
ALTER TABLE ONLY public.segments ALTER COLUMN id SET DEFAULT nextval('public.segments_id_seq'::regclass);
ALTER TABLE ONLY public.server_secret ALTER COLUMN id SET DEFAULT nextval('public.server_secret_id_seq'::regclass);
ALTER TABLE ONLY public.shared_results ALTER COLUMN id SET DEFAULT nextval('public.shared_results_id_seq'::regclass);
ALTER TABLE ONLY public.signatures ALTER COLUMN id SET DEFAULT nextval('public.signatures_id_seq'::regclass);
ALTER TABLE ONLY public.stress_test_runs ALTER COLUMN id SET DEFAULT nextval('public.stress_runs_id_seq'::regclass);
ALTER TABLE ONLY public.timings ALTER COLUMN id SET DEFAULT nextval('public.timings_id_seq'::regclass);
INSERT INTO public.accounts VALUES (1, 'ann', '$argon2id$none', true, true, '2026-11-28 19:13:35.538186');
INSERT INTO public.accounts VALUES (2, 'ben@example.org', NULL, false, true, '2026-11-28 19:13:35.542364');
INSERT INTO public.alembic_version VALUES ('0025');
INSERT INTO public.assignments VALUES (1, 1, 1, 1, 0, '["A"]', 0.5, 'assigned', '2026-01-01 00:00:00', NULL, NULL, NULL);
INSERT INTO public.assignments VALUES (2, 3, 2, 1, 0, '["B","A"]', 0.25, 'submitted', '2026-05-01 12:00:00', '2026-05-01 13:00:00', '2026-05-01 12:00:00', '2026-05-01 12:00:00');
INSERT INTO public.assignments VALUES (3, 4, 2, 1, 1, '["B","A"]', 0.25, 'assigned', '2026-05-01 12:00:00', '2026-05-01 13:00:00', NULL, NULL);
INSERT INTO public.audit VALUES (1, '2026-11-28 19:13:35.564298', 'ann', 'exported', 3, '{"file":"csv"}');
INSERT INTO public.batches VALUES (1, 1, 'drawn', 'all', 7, 's', 1, '[["A","d","1",0.5]]', '{}', '2026-01-01 00:00:00');
INSERT INTO public.calibrations VALUES (1, 1, 'pilot', '1.7', 's', 'r', '{}', '2026-01-01 00:00:00');
INSERT INTO public.calibrations VALUES (2, 3, 'λ for news', 'inf', 'bartscore++|v:1', 'v:2', '{"interval":[0.5,Infinity],"n":6}', '2026-11-28 19:13:34.991457');
INSERT INTO public.campaign_units VALUES (1, 1, 'u1', 0, 0, 'item', 'd', '1', '["A"]', '{}', false);
INSERT INTO public.campaign_units VALUES (2, 2, 'u3', 0, 0, 'item', 'doc', '0', '["A","B"]', '{"from":[1,null]}', false);
INSERT INTO public.campaign_units VALUES (3, 2, 'u1', 1, 1, 'item', 'doc', '0', '["A","B"]', '{"from":[1,null]}', false);
INSERT INTO public.campaign_units VALUES (4, 2, 'u2', 2, 2, 'item', 'doc', '0', '["A","B"]', '{"from":[1,null]}', false);
INSERT INTO public.campaigns VALUES (1, 1, 2, 'pilot', '{"overlap":1}', 'draft', '2026-01-01 00:00:00', 'ann');
INSERT INTO public.campaigns VALUES (2, 3, 4, 'ESA pilot', '{"overlap":2,"protocol":{"name":"ESA"}}', 'running', '2026-11-28 19:13:35.027749', 'ann');
INSERT INTO public.cases VALUES (1, 1, 'demo', 'number', NULL, NULL, 'a', 'b', 'c', '[]', '2026-01-01 00:00:00');
INSERT INTO public.chunks VALUES (1, 1, 1, 0, 'done', NULL, 1, 1, 0, 1, 0, 0, '', '', 0, NULL, NULL, 0);
INSERT INTO public.claims VALUES ('d', 'k2', 1, 'w');
INSERT INTO public.events VALUES (1, 1, 'a1', '2026-01-01 00:00:00', 1, 1, 'verdict', 'A', '{"value":"no_error"}', '');
INSERT INTO public.events VALUES (2, 3, 'b1', '2026-11-28 19:13:34.975843', 1, 2, 'open', NULL, '{"order":["Lark-7B","Meridian"],"seed":1}', '');
INSERT INTO public.events VALUES (3, 3, 'b2', '2026-11-28 19:13:34.975895', 1, 2, 'add', 'Meridian', '{"mark":"m1","side":"output","start":0,"end":3,"quote":"The","severity":"Major","category":"Accuracy","note":"\u201c3\u201d"}', '');
INSERT INTO public.events VALUES (4, 3, 'b3', '2026-11-28 19:13:34.975937', 1, 2, 'change', 'Meridian', '{"mark":"m1","side":"output","start":0,"end":4,"quote":"The ","severity":"Minor","category":"Accuracy","note":""}', '');
INSERT INTO public.events VALUES (5, 3, 'b4', '2026-11-28 19:13:34.975974', 1, 2, 'verdict', 'Lark-7B', '{"value":"no_error"}', '');
INSERT INTO public.events VALUES (6, 3, 'b5', '2026-11-28 19:13:34.975994', 1, 2, 'undo', NULL, '{}', '');
INSERT INTO public.events VALUES (7, 3, 'b6', '2026-11-28 19:13:34.976012', 1, 2, 'redo', NULL, '{}', '');
INSERT INTO public.events VALUES (8, 3, 'b7', '2026-11-28 19:13:34.97604', 1, 2, 'submit', NULL, '{}', '2026-11-28T10:00:00Z');
INSERT INTO public.events VALUES (9, 3, 'c1', '2026-11-28 19:13:34.98829', 2, 2, 'verdict', 'Meridian', '{"value":"non_translation"}', '');
INSERT INTO public.events VALUES (10, 4, 'd1', '2026-11-28 19:13:35.296159', 1, 6, 'score', 'A', '{"value":87}', '');
INSERT INTO public.events VALUES (11, 4, 'd2', '2026-11-28 19:13:35.296204', 1, 6, 'score', 'B', '{"value":40.5}', '');
INSERT INTO public.events VALUES (12, 4, 'd3', '2026-11-28 19:13:35.296237', 1, 6, 'submit', NULL, '{"asks":["score"]}', '');
INSERT INTO public.external_metrics VALUES (1, 1, 'COMET', true, '[["f","0",""]]', '2026-01-01 00:00:00');
INSERT INTO public.external_scores VALUES (1, 1, 0.5, 'ok', '');
INSERT INTO public.human_scores VALUES (1, 1, 'da', 71.5, NULL);
INSERT INTO public.job_metrics VALUES (1, 1, 'chrf', 'chrF', 's', '', '', '[]', NULL, 1, 1, 0);
INSERT INTO public.jobs VALUES (1, 1, '["chrf"]', 'done', 1, 1, '', '2026-01-01 00:00:00', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.judgements VALUES (1, 1, 1, 'fluency', 4);
INSERT INTO public.links VALUES (1, 3, 'cem', NULL, '7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c', '2026-11-28 19:13:35.557699', NULL, NULL, 'ann');
INSERT INTO public.login_sessions VALUES ('5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e', 1, '2026-11-28 19:13:35.553052', '2036-01-01 00:00:00');
INSERT INTO public.outputs VALUES (1, 1, 'A', 0, 'output', '0123456789abcdef0123456789abcdef', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (2, 2, 'Meridian', 0, 'The Ahrfelden town council decided on Tuesday evening not to close the old indoor pool but to renovate it.', 'b55fdbbe99e5231bbf34a5a08254e33cd57ea9122daa85ef143a76aee56ab241', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (3, 2, 'Lark-7B', 1, 'On Tuesday evening, Ahrfelden''s town council decided to close the old indoor pool and not to renovate it.', '8031cec955d7bdb1ed9788b6747e3045702d7ed16e8f9a742e5ce7ba7b49ec38', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (4, 3, 'Meridian', 2, 'The work is expected to cost 4.2 million euros and begin in March 2027.', '5bb2f28722f037af2c8a503c9618e35a38bf5d81f6259196bf597208653e6f63', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (5, 3, 'Lark-7B', 3, 'The work is set to cost 42 million euros and to get under way in May 2027.', '1401c7c81a112b2906e383c477f72aa21d54003ed2cb145f03e4a18d7fdd460d', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (6, 4, 'Meridian', 4, '"A pool is not a luxury but a place where our children learn to swim" said Mayor Jana Petersen.', '2300b1505a8a6119668276d68938579e46325d829a466fac87b9a23da8bab9f1', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (7, 4, 'Lark-7B', 5, '"A pool is not a luxury but a place where our children learn to swim," said Mayor Jonas Petersen.', '049e0267b83a1763e58e7c2ef5e1d9ee35f70e21c8bdfa372b69e6fb90b9aefe', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (8, 5, 'A', 0, 'A of u3', 'b08f8b9d85b30817ab6e4b35c85daa33c620302fc60414480c4de35ef6a55657', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (9, 5, 'B', 1, 'B of u3', '122c5d12f6076adfa6b1fed0b3d3df2784c41c0541256c69ef15f52d10fa3769', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (10, 6, 'A', 2, 'A of u1', '97fb1dfbe431aefc5a49b5e41f7bb8f6a4c82415030940b76d58b137b5e6aa0b', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (11, 6, 'B', 3, 'B of u1', 'a5d7aab285e5eff1ccbfda407d1bc1ae89d07af2ec7f87a7500de9943d5aa23f', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (12, 7, 'A', 4, 'A of u2', 'a5003e2e7b7c6dabc5d75123c709cd4a88883f6e43207c024e067fc9ed7c925b', NULL, NULL, NULL);
INSERT INTO public.outputs VALUES (13, 7, 'B', 5, 'B of u2', '83276d2161c7bfcadbfea226842cdd201b8c0277e819156f700ab2e40bf27915', NULL, NULL, NULL);
INSERT INTO public.participants VALUES (1, 1, 'ann', 'CODE', '2026-01-01 00:00:00', '', false, NULL);
INSERT INTO public.participants VALUES (2, 2, 'ann', 'CODE', '2026-11-28 19:13:35.099155', '', false, NULL);
INSERT INTO public.project_arrays VALUES (1, 3, 'abababababababababababababababababababababababababababababababab', 1, 3000000000, '\x00ff');
INSERT INTO public.project_roles VALUES (1, 3, 2, 'adjudicator');
INSERT INTO public.project_settings VALUES (1, 1, 'typology', '{}');
INSERT INTO public.project_settings VALUES (2, 4, 'protocol', '{"asks":["score"]}');
INSERT INTO public.project_settings VALUES (3, 4, 'typology', '{"categories":[]}');
INSERT INTO public.projects VALUES (1, 'old', '2026-01-01 00:00:00', false, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.projects VALUES (2, ' texts', '2026-01-01 00:00:00', false, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.projects VALUES (3, 'sample', '2026-11-28 19:13:34.762282', false, NULL, 1, '[1,3,6,["Meridian","Lark-7B"],[],[]]', NULL, NULL);
INSERT INTO public.projects VALUES (4, ' 2c790397e05e4caa9d6a562b1a7b49c7', '2026-11-28 19:13:35.02619', false, NULL, 1, NULL, NULL, NULL);
INSERT INTO public.raters VALUES (1, 'ann', '2026-01-01 00:00:00');
INSERT INTO public.raters VALUES (2, 'ben', '2026-11-28 19:13:34.988805');
INSERT INTO public.runs VALUES (1, 1, '2026-01-01 00:00:00', 1, 0.5, '{}');
INSERT INTO public.scores VALUES (1, '0123456789abcdef0123456789abcdef', 1, 0.30000000000000004, 'ok', '', '{}', '\x00ff');
INSERT INTO public.segment_references VALUES (1, 0, 'reference', NULL);
INSERT INTO public.segment_references VALUES (2, 0, 'On Tuesday evening, Ahrfelden''s town council decided not to close the old indoor pool but to renovate it.', NULL);
INSERT INTO public.segment_references VALUES (2, 1, 'Ahrfelden town council voted on Tuesday evening to renovate the old indoor swimming pool instead of closing it.', NULL);
INSERT INTO public.segment_references VALUES (3, 0, 'The work is expected to cost 4.2 million euros and to start in March 2027.', NULL);
INSERT INTO public.segment_references VALUES (4, 0, '"A pool is not a luxury but a place where our children learn to swim," said Mayor Jana Petersen.', NULL);
INSERT INTO public.segment_references VALUES (4, 1, '"A swimming pool is no luxury; it is where our children learn to swim," Mayor Jana Petersen said.', NULL);
INSERT INTO public.segments VALUES (1, 1, 'd', '1', 0, 'Quelle 😀', NULL, NULL);
INSERT INTO public.segments VALUES (2, 3, 'de-town-council', '1', 0, 'Der Stadtrat von Ahrfelden hat am Dienstagabend beschlossen, das alte Hallenbad nicht zu schließen, sondern zu sanieren.', NULL, NULL);
INSERT INTO public.segments VALUES (3, 3, 'de-town-council', '2', 1, 'Die Arbeiten sollen 4,2 Millionen Euro kosten und im März 2027 beginnen.', NULL, NULL);
INSERT INTO public.segments VALUES (4, 3, 'de-town-council', '3', 2, '„Ein Bad ist kein Luxus, sondern ein Ort, an dem unsere Kinder schwimmen lernen“, sagte Bürgermeisterin Jana Petersen.', NULL, NULL);
INSERT INTO public.segments VALUES (5, 4, 'u3', '0', 0, 'source of u3', NULL, NULL);
INSERT INTO public.segments VALUES (6, 4, 'u1', '0', 1, 'source of u1', NULL, NULL);
INSERT INTO public.segments VALUES (7, 4, 'u2', '0', 2, 'source of u2', NULL, NULL);
INSERT INTO public.server_secret VALUES (1, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f');
INSERT INTO public.shared_results VALUES (1, 1, 1, 'Pilot', true, '\x789c2b4a2dc82f2a01000910029d', 't', '2026-01-01 00:00:00', 'ann', NULL);
INSERT INTO public.signatures VALUES (1, 'chrf', 'chrf|v:1', 'b0a0cfa0b8b80df9c8177e2f8864f3c20960fcb5855499ecebdb41d9b6fc4310');
INSERT INTO public.stress_test_runs VALUES (1, 1, 'r', '{}', '\x789c2b4a2dc82f2a01000910029d', '2026-01-01 00:00:00');
INSERT INTO public.timings VALUES (2, 'efefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef', 10, 5000000000, 0.25, 81.5, '2026-11-28 10:00:00');
SELECT pg_catalog.setval('public.accounts_id_seq', 2, true);
SELECT pg_catalog.setval('public.assignments_id_seq', 3, true);
SELECT pg_catalog.setval('public.audit_number_seq', 1, true);
SELECT pg_catalog.setval('public.batches_id_seq', 1, true);
SELECT pg_catalog.setval('public.calibrations_id_seq', 2, true);
SELECT pg_catalog.setval('public.campaign_units_id_seq', 4, true);
SELECT pg_catalog.setval('public.campaigns_id_seq', 2, true);
SELECT pg_catalog.setval('public.cases_id_seq', 1, true);
SELECT pg_catalog.setval('public.chunks_id_seq', 1, true);
SELECT pg_catalog.setval('public.events_number_seq', 12, true);
SELECT pg_catalog.setval('public.external_metrics_id_seq', 1, true);
SELECT pg_catalog.setval('public.human_scores_id_seq', 1, true);
SELECT pg_catalog.setval('public.job_metrics_id_seq', 1, true);
SELECT pg_catalog.setval('public.jobs_id_seq', 1, true);
SELECT pg_catalog.setval('public.judgements_id_seq', 1, true);
SELECT pg_catalog.setval('public.links_id_seq', 1, true);
SELECT pg_catalog.setval('public.outputs_id_seq', 13, true);
SELECT pg_catalog.setval('public.participants_id_seq', 2, true);
SELECT pg_catalog.setval('public.project_arrays_id_seq', 1, true);
SELECT pg_catalog.setval('public.project_roles_id_seq', 1, true);
SELECT pg_catalog.setval('public.project_settings_id_seq', 3, true);
SELECT pg_catalog.setval('public.projects_id_seq', 5, true);
SELECT pg_catalog.setval('public.raters_id_seq', 2, true);
SELECT pg_catalog.setval('public.runs_id_seq', 1, true);
SELECT pg_catalog.setval('public.segments_id_seq', 7, true);
SELECT pg_catalog.setval('public.server_secret_id_seq', 1, true);
SELECT pg_catalog.setval('public.shared_results_id_seq', 1, true);
SELECT pg_catalog.setval('public.signatures_id_seq', 1, true);
SELECT pg_catalog.setval('public.stress_runs_id_seq', 1, true);
SELECT pg_catalog.setval('public.timings_id_seq', 2, true);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_name_key UNIQUE (name);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT assignments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.calibrations
    ADD CONSTRAINT calibrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.campaign_units
    ADD CONSTRAINT campaign_units_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_texts_key UNIQUE (texts);
ALTER TABLE ONLY public.cases
    ADD CONSTRAINT cases_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT chunks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (digest, content_key);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.external_metrics
    ADD CONSTRAINT external_metrics_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.external_scores
    ADD CONSTRAINT external_scores_pkey PRIMARY KEY (metric, output);
ALTER TABLE ONLY public.human_scores
    ADD CONSTRAINT human_scores_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.job_metrics
    ADD CONSTRAINT job_metrics_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.judgements
    ADD CONSTRAINT judgements_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.login_sessions
    ADD CONSTRAINT login_sessions_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.project_arrays
    ADD CONSTRAINT one_array_a_digest UNIQUE (project_id, digest);
ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT one_assignment_a_participant UNIQUE (unit, participant);
ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT one_assignment_a_slot UNIQUE (unit, slot);
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT one_batch_a_name UNIQUE (project_id, name);
ALTER TABLE ONLY public.calibrations
    ADD CONSTRAINT one_calibration_a_name UNIQUE (project_id, name);
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT one_campaign_a_name UNIQUE (project_id, name);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT one_event_an_action UNIQUE (project_id, action_id);
ALTER TABLE ONLY public.external_metrics
    ADD CONSTRAINT one_external_metric_a_name UNIQUE (project_id, name);
ALTER TABLE ONLY public.human_scores
    ADD CONSTRAINT one_human_score_a_name UNIQUE (output, name);
ALTER TABLE ONLY public.judgements
    ADD CONSTRAINT one_judgement_a_rater UNIQUE (output, rater, name);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT one_output_a_system UNIQUE (segment, system);
ALTER TABLE ONLY public.participants
    ADD CONSTRAINT one_participant_a_name UNIQUE (campaign, rater);
ALTER TABLE ONLY public.project_roles
    ADD CONSTRAINT one_role_an_account UNIQUE (project_id, account);
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT one_segment_a_key UNIQUE (project_id, doc_id, segment_id);
ALTER TABLE ONLY public.project_settings
    ADD CONSTRAINT one_setting_a_name UNIQUE (project_id, name);
ALTER TABLE ONLY public.campaign_units
    ADD CONSTRAINT one_unit_a_name UNIQUE (campaign, name);
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT outputs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.participants
    ADD CONSTRAINT participants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.project_arrays
    ADD CONSTRAINT project_arrays_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.project_roles
    ADD CONSTRAINT project_roles_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.project_settings
    ADD CONSTRAINT project_settings_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_name_key UNIQUE (name);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.raters
    ADD CONSTRAINT raters_name_key UNIQUE (name);
ALTER TABLE ONLY public.raters
    ADD CONSTRAINT raters_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.scores
    ADD CONSTRAINT scores_pkey PRIMARY KEY (signature, content_key);
ALTER TABLE ONLY public.segment_references
    ADD CONSTRAINT segment_references_pkey PRIMARY KEY (segment, "position");
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.server_secret
    ADD CONSTRAINT server_secret_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.shared_results
    ADD CONSTRAINT shared_results_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.shared_results
    ADD CONSTRAINT shared_results_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.signatures
    ADD CONSTRAINT signatures_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.signatures
    ADD CONSTRAINT signatures_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.stress_test_runs
    ADD CONSTRAINT stress_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.timings
    ADD CONSTRAINT timings_pkey PRIMARY KEY (id);
CREATE INDEX assignments_by_participant ON public.assignments USING btree (participant, "position");
CREATE INDEX cases_by_collection ON public.cases USING btree (project_id, collection);
CREATE INDEX chunks_in_turn ON public.chunks USING btree (job, state, "position");
CREATE INDEX events_by_number ON public.events USING btree (project_id, number);
CREATE INDEX events_by_rater ON public.events USING btree (rater, project_id, number);
CREATE INDEX events_by_segment ON public.events USING btree (segment, rater);
CREATE INDEX ix_audit_project_id ON public.audit USING btree (project_id);
CREATE INDEX ix_claims_chunk ON public.claims USING btree (chunk);
CREATE INDEX ix_external_scores_output ON public.external_scores USING btree (output);
CREATE INDEX ix_job_metrics_job ON public.job_metrics USING btree (job);
CREATE INDEX ix_jobs_state ON public.jobs USING btree (state);
CREATE INDEX ix_login_sessions_account ON public.login_sessions USING btree (account);
CREATE INDEX ix_timings_digest ON public.timings USING btree (digest);
CREATE INDEX scores_by_run ON public.scores USING btree (run);
CREATE INDEX shared_results_by_project ON public.shared_results USING btree (project_id);
CREATE INDEX stress_test_runs_by_project ON public.stress_test_runs USING btree (project_id);
CREATE TRIGGER audit_keep BEFORE DELETE OR UPDATE ON public.audit FOR EACH ROW EXECUTE FUNCTION public.refuse_audit_change();
CREATE TRIGGER audit_stay BEFORE TRUNCATE ON public.audit FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_audit_change();
CREATE TRIGGER events_keep BEFORE UPDATE ON public.events FOR EACH ROW EXECUTE FUNCTION public.events_append_only();
CREATE TRIGGER events_stay BEFORE DELETE ON public.events FOR EACH ROW EXECUTE FUNCTION public.events_append_only();
CREATE TRIGGER events_whole BEFORE TRUNCATE ON public.events FOR EACH STATEMENT EXECUTE FUNCTION public.events_append_only();
ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT assignments_participant_fkey FOREIGN KEY (participant) REFERENCES public.participants(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT assignments_unit_fkey FOREIGN KEY (unit) REFERENCES public.campaign_units(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.calibrations
    ADD CONSTRAINT calibrations_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.campaign_units
    ADD CONSTRAINT campaign_units_campaign_fkey FOREIGN KEY (campaign) REFERENCES public.campaigns(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_texts_fkey FOREIGN KEY (texts) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.cases
    ADD CONSTRAINT cases_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT chunks_job_fkey FOREIGN KEY (job) REFERENCES public.jobs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT chunks_metric_fkey FOREIGN KEY (metric) REFERENCES public.job_metrics(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.claims
    ADD CONSTRAINT claims_chunk_fkey FOREIGN KEY (chunk) REFERENCES public.chunks(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_rater_fkey FOREIGN KEY (rater) REFERENCES public.raters(id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_segment_fkey FOREIGN KEY (segment) REFERENCES public.segments(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.external_metrics
    ADD CONSTRAINT external_metrics_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.external_scores
    ADD CONSTRAINT external_scores_metric_fkey FOREIGN KEY (metric) REFERENCES public.external_metrics(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.external_scores
    ADD CONSTRAINT external_scores_output_fkey FOREIGN KEY (output) REFERENCES public.outputs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.human_scores
    ADD CONSTRAINT human_scores_output_fkey FOREIGN KEY (output) REFERENCES public.outputs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.job_metrics
    ADD CONSTRAINT job_metrics_job_fkey FOREIGN KEY (job) REFERENCES public.jobs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.judgements
    ADD CONSTRAINT judgements_output_fkey FOREIGN KEY (output) REFERENCES public.outputs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.judgements
    ADD CONSTRAINT judgements_rater_fkey FOREIGN KEY (rater) REFERENCES public.raters(id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT links_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.login_sessions
    ADD CONSTRAINT login_sessions_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.outputs
    ADD CONSTRAINT outputs_segment_fkey FOREIGN KEY (segment) REFERENCES public.segments(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.participants
    ADD CONSTRAINT participants_campaign_fkey FOREIGN KEY (campaign) REFERENCES public.campaigns(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.project_arrays
    ADD CONSTRAINT project_arrays_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.project_roles
    ADD CONSTRAINT project_roles_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.project_roles
    ADD CONSTRAINT project_roles_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.project_settings
    ADD CONSTRAINT project_settings_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_signature_fkey FOREIGN KEY (signature) REFERENCES public.signatures(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.scores
    ADD CONSTRAINT scores_run_fkey FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.scores
    ADD CONSTRAINT scores_signature_fkey FOREIGN KEY (signature) REFERENCES public.signatures(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.segment_references
    ADD CONSTRAINT segment_references_segment_fkey FOREIGN KEY (segment) REFERENCES public.segments(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.shared_results
    ADD CONSTRAINT shared_results_campaign_fkey FOREIGN KEY (campaign) REFERENCES public.campaigns(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.shared_results
    ADD CONSTRAINT shared_results_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.stress_test_runs
    ADD CONSTRAINT stress_runs_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;
