-- A database of schema 0025 with a row in every table, as SQLite 3 wrote it on 2026-11-28. Databases of that day must open: never change this file.
BEGIN TRANSACTION;
CREATE TABLE accounts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	password TEXT, 
	manager BOOLEAN NOT NULL, 
	active BOOLEAN NOT NULL, 
	created DATETIME NOT NULL, 
	UNIQUE (name)
);
INSERT INTO "accounts" VALUES(1,'ann','$argon2id$none',1,1,'2026-11-28 19:13:35.538186');
INSERT INTO "accounts" VALUES(2,'ben@example.org',NULL,0,1,'2026-11-28 19:13:35.542364');
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0025');
CREATE TABLE assignments (
	id INTEGER NOT NULL, 
	unit INTEGER NOT NULL, 
	participant INTEGER NOT NULL, 
	slot INTEGER, 
	position INTEGER NOT NULL, 
	systems TEXT NOT NULL, 
	probability DOUBLE NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	assigned DATETIME NOT NULL, 
	lease_until DATETIME, 
	opened DATETIME, 
	submitted DATETIME, 
	PRIMARY KEY (id), 
	CONSTRAINT one_assignment_a_participant UNIQUE (unit, participant), 
	CONSTRAINT one_assignment_a_slot UNIQUE (unit, slot), 
	FOREIGN KEY(unit) REFERENCES campaign_units (id) ON DELETE CASCADE, 
	FOREIGN KEY(participant) REFERENCES participants (id) ON DELETE CASCADE
);
INSERT INTO "assignments" VALUES(1,1,1,1,0,'["A"]',0.5,'assigned','2026-01-01 00:00:00',NULL,NULL,NULL);
INSERT INTO "assignments" VALUES(2,3,2,1,0,'["B","A"]',0.25,'submitted','2026-05-01 12:00:00.000000','2026-05-01 13:00:00.000000','2026-05-01 12:00:00.000000','2026-05-01 12:00:00.000000');
INSERT INTO "assignments" VALUES(3,4,2,1,1,'["B","A"]',0.25,'assigned','2026-05-01 12:00:00.000000','2026-05-01 13:00:00.000000',NULL,NULL);
CREATE TABLE audit (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	time DATETIME NOT NULL, 
	who TEXT NOT NULL, 
	act VARCHAR(64) NOT NULL, 
	project_id INTEGER, 
	details TEXT NOT NULL
);
INSERT INTO "audit" VALUES(1,'2026-11-28 19:13:35.564298','ann','exported',3,'{"file":"csv"}');
CREATE TABLE batches (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	method VARCHAR(32) NOT NULL, 
	seed INTEGER NOT NULL, 
	signature TEXT NOT NULL, 
	population INTEGER NOT NULL, 
	outputs TEXT NOT NULL, 
	options TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_batch_a_name UNIQUE (project_id, name), 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "batches" VALUES(1,1,'drawn','all',7,'s',1,'[["A","d","1",0.5]]','{}','2026-01-01 00:00:00');
CREATE TABLE calibrations (
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
);
INSERT INTO "calibrations" VALUES(1,1,'pilot','1.7','s','r','{}','2026-01-01 00:00:00');
INSERT INTO "calibrations" VALUES(2,3,'λ for news','inf','bartscore++|v:1','v:2','{"interval":[0.5,Infinity],"n":6}','2026-11-28 19:13:34.991457');
CREATE TABLE campaign_units (
	id INTEGER NOT NULL, 
	campaign INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	block INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	of_document TEXT NOT NULL, 
	of_segment TEXT NOT NULL, 
	systems TEXT NOT NULL, 
	details TEXT NOT NULL, 
	retired BOOLEAN NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_unit_a_name UNIQUE (campaign, name), 
	FOREIGN KEY(campaign) REFERENCES campaigns (id) ON DELETE CASCADE
);
INSERT INTO "campaign_units" VALUES(1,1,'u1',0,0,'item','d','1','["A"]','{}',0);
INSERT INTO "campaign_units" VALUES(2,2,'u3',0,0,'item','doc','0','["A","B"]','{"from":[1,null]}',0);
INSERT INTO "campaign_units" VALUES(3,2,'u1',1,1,'item','doc','0','["A","B"]','{"from":[1,null]}',0);
INSERT INTO "campaign_units" VALUES(4,2,'u2',2,2,'item','doc','0','["A","B"]','{"from":[1,null]}',0);
CREATE TABLE campaigns (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id INTEGER NOT NULL, 
	texts INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	design TEXT NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	created DATETIME NOT NULL, 
	created_by TEXT NOT NULL, 
	CONSTRAINT one_campaign_a_name UNIQUE (project_id, name), 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE, 
	UNIQUE (texts), 
	FOREIGN KEY(texts) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "campaigns" VALUES(1,1,2,'pilot','{"overlap":1}','draft','2026-01-01 00:00:00','ann');
INSERT INTO "campaigns" VALUES(2,3,4,'ESA pilot','{"overlap":2,"protocol":{"name":"ESA"}}','running','2026-11-28 19:13:35.027749','ann');
CREATE TABLE cases (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	collection TEXT NOT NULL, 
	phenomenon TEXT NOT NULL, 
	source TEXT, 
	reference TEXT, 
	good TEXT NOT NULL, 
	changed TEXT NOT NULL, 
	what TEXT NOT NULL, 
	scores TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "cases" VALUES(1,1,'demo','number',NULL,NULL,'a','b','c','[]','2026-01-01 00:00:00');
CREATE TABLE chunks (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	job INTEGER NOT NULL, 
	metric INTEGER, 
	position INTEGER NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	outputs BLOB, 
	n INTEGER NOT NULL, 
	size DOUBLE NOT NULL, 
	begins_after INTEGER NOT NULL, 
	done INTEGER NOT NULL, 
	failed INTEGER NOT NULL, 
	known INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	message TEXT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	worker TEXT, 
	heartbeat DATETIME, 
	attempts INTEGER NOT NULL, 
	FOREIGN KEY(job) REFERENCES jobs (id) ON DELETE CASCADE, 
	FOREIGN KEY(metric) REFERENCES job_metrics (id) ON DELETE CASCADE
);
INSERT INTO "chunks" VALUES(1,1,1,0,'done',NULL,1,1.0,0,1,0,0,'','',0.0,NULL,NULL,0);
CREATE TABLE claims (
	digest VARCHAR(64) NOT NULL, 
	content_key VARCHAR(64) NOT NULL, 
	chunk INTEGER NOT NULL, 
	worker TEXT NOT NULL, 
	PRIMARY KEY (digest, content_key), 
	FOREIGN KEY(chunk) REFERENCES chunks (id) ON DELETE CASCADE
);
INSERT INTO "claims" VALUES('d','k2',1,'w');
CREATE TABLE events (
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
);
INSERT INTO "events" VALUES(1,1,'a1','2026-01-01 00:00:00',1,1,'verdict','A','{"value":"no_error"}','');
INSERT INTO "events" VALUES(2,3,'b1','2026-11-28 19:13:34.975843',1,2,'open',NULL,'{"order":["Lark-7B","Meridian"],"seed":1}','');
INSERT INTO "events" VALUES(3,3,'b2','2026-11-28 19:13:34.975895',1,2,'add','Meridian','{"mark":"m1","side":"output","start":0,"end":3,"quote":"The","severity":"Major","category":"Accuracy","note":"\u201c3\u201d"}','');
INSERT INTO "events" VALUES(4,3,'b3','2026-11-28 19:13:34.975937',1,2,'change','Meridian','{"mark":"m1","side":"output","start":0,"end":4,"quote":"The ","severity":"Minor","category":"Accuracy","note":""}','');
INSERT INTO "events" VALUES(5,3,'b4','2026-11-28 19:13:34.975974',1,2,'verdict','Lark-7B','{"value":"no_error"}','');
INSERT INTO "events" VALUES(6,3,'b5','2026-11-28 19:13:34.975994',1,2,'undo',NULL,'{}','');
INSERT INTO "events" VALUES(7,3,'b6','2026-11-28 19:13:34.976012',1,2,'redo',NULL,'{}','');
INSERT INTO "events" VALUES(8,3,'b7','2026-11-28 19:13:34.976040',1,2,'submit',NULL,'{}','2026-11-28T10:00:00Z');
INSERT INTO "events" VALUES(9,3,'c1','2026-11-28 19:13:34.988290',2,2,'verdict','Meridian','{"value":"non_translation"}','');
INSERT INTO "events" VALUES(10,4,'d1','2026-11-28 19:13:35.296159',1,6,'score','A','{"value":87}','');
INSERT INTO "events" VALUES(11,4,'d2','2026-11-28 19:13:35.296204',1,6,'score','B','{"value":40.5}','');
INSERT INTO "events" VALUES(12,4,'d3','2026-11-28 19:13:35.296237',1,6,'submit',NULL,'{"asks":["score"]}','');
CREATE TABLE external_metrics (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	higher_is_better BOOLEAN NOT NULL, 
	files TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_external_metric_a_name UNIQUE (project_id, name), 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "external_metrics" VALUES(1,1,'COMET',1,'[["f","0",""]]','2026-01-01 00:00:00');
CREATE TABLE external_scores (
	metric INTEGER NOT NULL, 
	output INTEGER NOT NULL, 
	value DOUBLE, 
	status VARCHAR(16) NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (metric, output), 
	FOREIGN KEY(metric) REFERENCES external_metrics (id) ON DELETE CASCADE, 
	FOREIGN KEY(output) REFERENCES outputs (id) ON DELETE CASCADE
);
INSERT INTO "external_scores" VALUES(1,1,0.5,'ok','');
CREATE TABLE human_scores (
	id INTEGER NOT NULL, 
	output INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	value DOUBLE NOT NULL, added_by INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT one_human_score_a_name UNIQUE (output, name), 
	FOREIGN KEY(output) REFERENCES outputs (id) ON DELETE CASCADE
);
INSERT INTO "human_scores" VALUES(1,1,'da',71.5,NULL);
CREATE TABLE job_metrics (
	id INTEGER NOT NULL, 
	job INTEGER NOT NULL, 
	metric TEXT NOT NULL, 
	label TEXT NOT NULL, 
	signature TEXT NOT NULL, 
	unusable TEXT NOT NULL, 
	abandoned TEXT NOT NULL, 
	examples TEXT NOT NULL, 
	speed DOUBLE, 
	length DOUBLE NOT NULL, 
	total INTEGER NOT NULL, 
	known INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(job) REFERENCES jobs (id) ON DELETE CASCADE
);
INSERT INTO "job_metrics" VALUES(1,1,'chrf','chrF','s','','','[]',NULL,1.0,1,0);
CREATE TABLE jobs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id INTEGER NOT NULL, 
	metrics TEXT NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	done INTEGER NOT NULL, 
	total INTEGER NOT NULL, 
	message TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	started DATETIME, 
	finished DATETIME, 
	segments TEXT, timing BOOLEAN, priority INTEGER, served DATETIME, imports INTEGER, 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "jobs" VALUES(1,1,'["chrf"]','done',1,1,'','2026-01-01 00:00:00',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE judgements (
	id INTEGER NOT NULL, 
	output INTEGER NOT NULL, 
	rater INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	value DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_judgement_a_rater UNIQUE (output, rater, name), 
	FOREIGN KEY(output) REFERENCES outputs (id) ON DELETE CASCADE, 
	FOREIGN KEY(rater) REFERENCES raters (id)
);
INSERT INTO "judgements" VALUES(1,1,1,'fluency',4.0);
CREATE TABLE links (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id INTEGER NOT NULL, 
	rater TEXT NOT NULL, 
	batch TEXT, 
	token_hash VARCHAR(64) NOT NULL, 
	created DATETIME NOT NULL, 
	expires DATETIME, 
	revoked DATETIME, 
	created_by TEXT NOT NULL, 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE, 
	UNIQUE (token_hash)
);
INSERT INTO "links" VALUES(1,3,'cem',NULL,'7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c7c','2026-11-28 19:13:35.557699',NULL,NULL,'ann');
CREATE TABLE login_sessions (
	token_hash VARCHAR(64) NOT NULL, 
	account INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	expires DATETIME NOT NULL, 
	PRIMARY KEY (token_hash), 
	FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);
INSERT INTO "login_sessions" VALUES('5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e',1,'2026-11-28 19:13:35.553052','2036-01-01 00:00:00.000000');
CREATE TABLE outputs (
	id INTEGER NOT NULL, 
	segment INTEGER NOT NULL, 
	system TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	content_key VARCHAR(64) NOT NULL, added_by INTEGER, next_key VARCHAR(64), next_key_by INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT one_output_a_system UNIQUE (segment, system), 
	FOREIGN KEY(segment) REFERENCES segments (id) ON DELETE CASCADE
);
INSERT INTO "outputs" VALUES(1,1,'A',0,'output','0123456789abcdef0123456789abcdef',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(2,2,'Meridian',0,'The Ahrfelden town council decided on Tuesday evening not to close the old indoor pool but to renovate it.','b55fdbbe99e5231bbf34a5a08254e33cd57ea9122daa85ef143a76aee56ab241',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(3,2,'Lark-7B',1,'On Tuesday evening, Ahrfelden''s town council decided to close the old indoor pool and not to renovate it.','8031cec955d7bdb1ed9788b6747e3045702d7ed16e8f9a742e5ce7ba7b49ec38',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(4,3,'Meridian',2,'The work is expected to cost 4.2 million euros and begin in March 2027.','5bb2f28722f037af2c8a503c9618e35a38bf5d81f6259196bf597208653e6f63',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(5,3,'Lark-7B',3,'The work is set to cost 42 million euros and to get under way in May 2027.','1401c7c81a112b2906e383c477f72aa21d54003ed2cb145f03e4a18d7fdd460d',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(6,4,'Meridian',4,'"A pool is not a luxury but a place where our children learn to swim" said Mayor Jana Petersen.','2300b1505a8a6119668276d68938579e46325d829a466fac87b9a23da8bab9f1',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(7,4,'Lark-7B',5,'"A pool is not a luxury but a place where our children learn to swim," said Mayor Jonas Petersen.','049e0267b83a1763e58e7c2ef5e1d9ee35f70e21c8bdfa372b69e6fb90b9aefe',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(8,5,'A',0,'A of u3','b08f8b9d85b30817ab6e4b35c85daa33c620302fc60414480c4de35ef6a55657',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(9,5,'B',1,'B of u3','122c5d12f6076adfa6b1fed0b3d3df2784c41c0541256c69ef15f52d10fa3769',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(10,6,'A',2,'A of u1','97fb1dfbe431aefc5a49b5e41f7bb8f6a4c82415030940b76d58b137b5e6aa0b',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(11,6,'B',3,'B of u1','a5d7aab285e5eff1ccbfda407d1bc1ae89d07af2ec7f87a7500de9943d5aa23f',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(12,7,'A',4,'A of u2','a5003e2e7b7c6dabc5d75123c709cd4a88883f6e43207c024e067fc9ed7c925b',NULL,NULL,NULL);
INSERT INTO "outputs" VALUES(13,7,'B',5,'B of u2','83276d2161c7bfcadbfea226842cdd201b8c0277e819156f700ab2e40bf27915',NULL,NULL,NULL);
CREATE TABLE participants (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	campaign INTEGER NOT NULL, 
	rater TEXT NOT NULL, 
	code TEXT NOT NULL, 
	joined DATETIME NOT NULL, 
	excluded TEXT NOT NULL, 
	has_left BOOLEAN NOT NULL, 
	passed_tutorial BOOLEAN, 
	CONSTRAINT one_participant_a_name UNIQUE (campaign, rater), 
	FOREIGN KEY(campaign) REFERENCES campaigns (id) ON DELETE CASCADE
);
INSERT INTO "participants" VALUES(1,1,'ann','CODE','2026-01-01 00:00:00','',0,NULL);
INSERT INTO "participants" VALUES(2,2,'ann','CODE','2026-11-28 19:13:35.099155','',0,NULL);
CREATE TABLE project_arrays (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	imports INTEGER NOT NULL, 
	newest BIGINT NOT NULL, 
	data BLOB NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_array_a_digest UNIQUE (project_id, digest), 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "project_arrays" VALUES(1,3,'abababababababababababababababababababababababababababababababab',1,3000000000,X'00FF');
CREATE TABLE project_roles (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	account INTEGER NOT NULL, 
	role VARCHAR(16) NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_role_an_account UNIQUE (project_id, account), 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE, 
	FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE
);
INSERT INTO "project_roles" VALUES(1,3,2,'adjudicator');
CREATE TABLE project_settings (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_setting_a_name UNIQUE (project_id, name), 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "project_settings" VALUES(1,1,'typology','{}');
INSERT INTO "project_settings" VALUES(2,4,'protocol','{"asks":["score"]}');
INSERT INTO "project_settings" VALUES(3,4,'typology','{"categories":[]}');
CREATE TABLE projects (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	sample BOOLEAN NOT NULL, importing DATETIME, imports INTEGER, summary TEXT, cleanup VARCHAR(8), adds_to INTEGER, 
	UNIQUE (name)
);
INSERT INTO "projects" VALUES(1,'old','2026-01-01 00:00:00',0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "projects" VALUES(2,' texts','2026-01-01 00:00:00',0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "projects" VALUES(3,'sample','2026-11-28 19:13:34.762282',0,NULL,1,'[1,3,6,["Meridian","Lark-7B"],[],[]]',NULL,NULL);
INSERT INTO "projects" VALUES(4,' 2c790397e05e4caa9d6a562b1a7b49c7','2026-11-28 19:13:35.026190',0,NULL,1,NULL,NULL,NULL);
CREATE TABLE raters (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "raters" VALUES(1,'ann','2026-01-01 00:00:00');
INSERT INTO "raters" VALUES(2,'ben','2026-11-28 19:13:34.988805');
CREATE TABLE runs (
	id INTEGER NOT NULL, 
	signature INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	n INTEGER NOT NULL, 
	seconds DOUBLE NOT NULL, 
	machine TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(signature) REFERENCES signatures (id) ON DELETE CASCADE
);
INSERT INTO "runs" VALUES(1,1,'2026-01-01 00:00:00',1,0.5,'{}');
CREATE TABLE scores (
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
);
INSERT INTO "scores" VALUES(1,'0123456789abcdef0123456789abcdef',1,3.00000000000000044408e-01,'ok','','{}',X'00FF');
CREATE TABLE segment_references (
	segment INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	text TEXT NOT NULL, added_by INTEGER, 
	PRIMARY KEY (segment, position), 
	FOREIGN KEY(segment) REFERENCES segments (id) ON DELETE CASCADE
);
INSERT INTO "segment_references" VALUES(1,0,'reference',NULL);
INSERT INTO "segment_references" VALUES(2,0,'On Tuesday evening, Ahrfelden''s town council decided not to close the old indoor pool but to renovate it.',NULL);
INSERT INTO "segment_references" VALUES(2,1,'Ahrfelden town council voted on Tuesday evening to renovate the old indoor swimming pool instead of closing it.',NULL);
INSERT INTO "segment_references" VALUES(3,0,'The work is expected to cost 4.2 million euros and to start in March 2027.',NULL);
INSERT INTO "segment_references" VALUES(4,0,'"A pool is not a luxury but a place where our children learn to swim," said Mayor Jana Petersen.',NULL);
INSERT INTO "segment_references" VALUES(4,1,'"A swimming pool is no luxury; it is where our children learn to swim," Mayor Jana Petersen said.',NULL);
CREATE TABLE segments (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	doc_id TEXT NOT NULL, 
	segment_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	source TEXT, added_by INTEGER, source_by INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT one_segment_a_key UNIQUE (project_id, doc_id, segment_id), 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "segments" VALUES(1,1,'d','1',0,'Quelle 😀',NULL,NULL);
INSERT INTO "segments" VALUES(2,3,'de-town-council','1',0,'Der Stadtrat von Ahrfelden hat am Dienstagabend beschlossen, das alte Hallenbad nicht zu schließen, sondern zu sanieren.',NULL,NULL);
INSERT INTO "segments" VALUES(3,3,'de-town-council','2',1,'Die Arbeiten sollen 4,2 Millionen Euro kosten und im März 2027 beginnen.',NULL,NULL);
INSERT INTO "segments" VALUES(4,3,'de-town-council','3',2,'„Ein Bad ist kein Luxus, sondern ein Ort, an dem unsere Kinder schwimmen lernen“, sagte Bürgermeisterin Jana Petersen.',NULL,NULL);
INSERT INTO "segments" VALUES(5,4,'u3','0',0,'source of u3',NULL,NULL);
INSERT INTO "segments" VALUES(6,4,'u1','0',1,'source of u1',NULL,NULL);
INSERT INTO "segments" VALUES(7,4,'u2','0',2,'source of u2',NULL,NULL);
CREATE TABLE server_secret (
	id INTEGER NOT NULL, 
	value BLOB NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "server_secret" VALUES(1,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F');
CREATE TABLE shared_results (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id INTEGER NOT NULL, 
	campaign INTEGER, 
	title TEXT NOT NULL, 
	blind BOOLEAN NOT NULL, 
	page BLOB, 
	token_hash VARCHAR(64) NOT NULL, 
	created DATETIME NOT NULL, 
	created_by TEXT NOT NULL, 
	revoked DATETIME, 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE, 
	FOREIGN KEY(campaign) REFERENCES campaigns (id) ON DELETE CASCADE, 
	UNIQUE (token_hash)
);
INSERT INTO "shared_results" VALUES(1,1,1,'Pilot',1,X'789C2B4A2DC82F2A01000910029D','t','2026-01-01 00:00:00','ann',NULL);
CREATE TABLE signatures (
	id INTEGER NOT NULL, 
	metric TEXT NOT NULL, 
	signature TEXT NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);
INSERT INTO "signatures" VALUES(1,'chrf','chrf|v:1','b0a0cfa0b8b80df9c8177e2f8864f3c20960fcb5855499ecebdb41d9b6fc4310');
CREATE TABLE "stress_test_runs" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	settings TEXT NOT NULL, 
	report BLOB NOT NULL, 
	created DATETIME NOT NULL, 
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "stress_test_runs" VALUES(1,1,'r','{}',X'789C2B4A2DC82F2A01000910029D','2026-01-01 00:00:00');
CREATE TABLE "timings" (
	id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	n INTEGER NOT NULL, 
	size BIGINT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	length DOUBLE NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "timings" VALUES(2,'efefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef',10,5000000000,0.25,81.5,'2026-11-28 10:00:00.000000');
CREATE INDEX ix_jobs_state ON jobs (state);
CREATE INDEX events_by_segment ON events (segment, rater);
CREATE TRIGGER events_keep BEFORE UPDATE ON events
       BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END;
CREATE INDEX ix_external_scores_output ON external_scores (output);
CREATE INDEX cases_by_collection ON cases (project_id, collection);
CREATE INDEX stress_test_runs_by_project ON stress_test_runs (project_id);
CREATE INDEX ix_login_sessions_account ON login_sessions (account);
CREATE INDEX ix_audit_project_id ON audit (project_id);
CREATE TRIGGER audit_keep BEFORE UPDATE ON audit
       BEGIN SELECT RAISE(ABORT, 'the audit record is append-only'); END;
CREATE TRIGGER audit_stay BEFORE DELETE ON audit
       BEGIN SELECT RAISE(ABORT, 'the audit record is append-only'); END;
CREATE TRIGGER events_stay BEFORE DELETE ON events
               WHEN EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id AND importing IS NULL)
               BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END;
CREATE INDEX assignments_by_participant ON assignments (participant, position);
CREATE INDEX scores_by_run ON scores (run);
CREATE INDEX ix_job_metrics_job ON job_metrics (job);
CREATE INDEX chunks_in_turn ON chunks (job, state, position);
CREATE INDEX ix_claims_chunk ON claims (chunk);
CREATE INDEX events_by_rater ON events (rater, project_id, number);
CREATE INDEX events_by_number ON events (project_id, number);
CREATE INDEX ix_timings_digest ON timings (digest);
CREATE INDEX shared_results_by_project ON shared_results (project_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('chunks',1);
INSERT INTO "sqlite_sequence" VALUES('projects',5);
INSERT INTO "sqlite_sequence" VALUES('events',12);
INSERT INTO "sqlite_sequence" VALUES('jobs',1);
INSERT INTO "sqlite_sequence" VALUES('stress_test_runs',1);
INSERT INTO "sqlite_sequence" VALUES('campaigns',2);
INSERT INTO "sqlite_sequence" VALUES('participants',2);
INSERT INTO "sqlite_sequence" VALUES('shared_results',1);
INSERT INTO "sqlite_sequence" VALUES('accounts',2);
INSERT INTO "sqlite_sequence" VALUES('links',1);
INSERT INTO "sqlite_sequence" VALUES('audit',1);
COMMIT;
